package pipeline

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// A writtenLanguage says how often letters stand in a language that legacy encodings were made for.
type writtenLanguage struct {
	script *unicode.RangeTable
	// letters is the share of each in a thousand letters, roughly: it need only tell text from its reading in another
	// encoding. In languages with Latin letters only those outside of ASCII count.
	letters string
	words   string   // of Latin letters in ASCII that are frequent
	pages   []string // encodings that are usual for it; nil where its letters tell
}

// Encodings that are usual in a part of the world.
var (
	western = []string{"windows-1252", "iso-8859-15", "macintosh"}
	central = []string{"windows-1250", "iso-8859-2"}
	baltic  = []string{"windows-1257"}
	turkish = []string{"windows-1254"}
)

var languagesKnown = []writtenLanguage{
	{unicode.Latin, "å11 ø9 æ9 é.3 ö.1 ü.1", "og i at det er en den til af for ikke som med de har der et han var", western},                                                                                                                                                                // da
	{unicode.Latin, "ü6 ä5 ö3 ß3 é.1", "der die und in den von zu das mit sich des auf ist im dem nicht ein eine als auch es an werden aus er hat dass sie nach wird bei war", western},                                                                                                     // de
	{unicode.Latin, "é.3 ï.1 è.05 ö.05 ü.05 ñ.05 ç.05 á.05 ä.05 í.03 ó.05 ê.03 â.02 à.03 ô.02 ø.02 å.02 æ.02", "the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which one you were all she there been their has would", western}, // en
	{unicode.Latin, "ó8 í7 á5 é4 ñ3 ú2 ü.2", "de la que el en y a los se del las un por con no una su para es al lo como o pero sus le ha me si sin sobre este ya cuando", western},                                                                                                         // es
	{unicode.Latin, "ä13 õ10 ü6 ö2 š.2 ž.2", "ja on ei et see kui oma ta mis oli aga ka ning", baltic},                                                                                                                                                                                      // et
	{unicode.Latin, "ä36 ö5 å.1", "ja on ei se oli mutta kun niin joka ovat tai mukaan", western},                                                                                                                                                                                           // fi
	{unicode.Latin, "é19 à5 è3 ê2 ç1 û1 ù1 â1 î1 ô1 ï.3 œ.3 ë.2 ÿ.02", "de la le et les des en un du une que est pour qui dans par sur au pas plus ne ce se il sont avec son ou mais nous elle on", western},                                                                                // fr
	{unicode.Latin, "à8 é5 è5 ó5 ò4 í6 ú2 ç3 ï2 ü1", "de la el i que a en els les un per del una es amb no al dels com va", western},                                                                                                                                                        // ca
	{unicode.Latin, "ð40 á18 í16 þ15 ó10 æ9 ö8 é7 ú6 ý2", "og er til sem var um en ekki fyrir af", western},                                                                                                                                                                                 // is
	{unicode.Latin, "à6 è4 ò2 ù2 é1 ì1", "di e il la che in un a per una non del con si da i le dei al nel della ma sono alla come lo gli ha anche era se o", western},                                                                                                                      // it
	{unicode.Latin, "ë1 é1 ï.5 ö.2 ü.2 è.2 ê.05", "de van het een en in is dat op te zijn met voor niet die aan er om ook als bij", western},                                                                                                                                                // nl
	{unicode.Latin, "ã7 ç5 á5 é4 ê4 í4 ó3 õ3 â1 ú1 à1 ô1", "de a o que e do da em um para com uma os no se na por mais as dos como mas ao das foi ou ele seu sua", western},                                                                                                                 // pt
	{unicode.Latin, "ë60 ç8", "e i dhe me se nga ka si nuk u", western},                                                                                                                                                                                                                     // sq
	{unicode.Latin, "ä18 å13 ö13 é.3", "och i att det som en av med den till inte om ett de har man var vid", western},                                                                                                                                                                      // sv
	{unicode.Latin, "í33 á22 ě16 é13 ř12 ý11 ž10 č10 š8 ů7 ú3 ť.5 ó.3 ď.2 ň.1", "a se v na je to s z o do ze po byl by si jako za ale jsem tak pro", central},                                                                                                                               // cs
	{unicode.Latin, "č10 š9 ž6 ć6 đ3", "i u je na se da su za od s koji a o iz ali kako nije", central},                                                                                                                                                                                     // hr
	{unicode.Latin, "é38 á36 ö11 ó11 ő10 ü6 í6 ú3 ű3", "a az hogy nem is egy ez van de ha meg csak volt el mint vagy ki azt mert", central},                                                                                                                                                 // hu
	{unicode.Latin, "ė16 š13 ų13 į8 ž8 ū6 ą5 č4 ę2", "ir kad su yra tai bet kaip o jis buvo", baltic},                                                                                                                                                                                       // lt
	{unicode.Latin, "ā38 ī18 ē17 š11 ū5 ņ5 ļ4 ž3 č1 ķ1 ģ1", "un ir ar no par kas ka bet tas uz vai", baltic},                                                                                                                                                                                // lv
	{unicode.Latin, "ł18 ę11 ą10 ó9 ż8 ś7 ć4 ń2 ź1", "i w na z do nie jest to o jak po ale od za przez co tak dla ze by jego oraz tylko", central},                                                                                                                                          // pl
	{unicode.Latin, "ă24 ş15 ţ12 ș15 ț12 î10 â8", "de la a cu din pe nu o ce mai au un pentru o care iar lui prin ca dar este", central},                                                                                                                                                    // ro
	{unicode.Latin, "á20 í12 č10 ý10 é9 ž9 š9 ú9 ť5 ľ4 ň2 ô2 ó1 ď1 ä.3 ŕ.1 ĺ.1", "a v na sa je to s z o do ale ako po si by za od pre sme", central},                                                                                                                                        // sk
	{unicode.Latin, "ı51 ü19 ş18 ğ11 ç11 ö8 İ1 â.3 î.1 û.1", "ve bir bu da de ne o var daha ile olarak sonra ben ama en gibi kadar her", turkish},                                                                                                                                           // tr
	{unicode.Cyrillic, "а140 н63 і63 р53 е50 с46 я46 ы45 л42 д41 к39 у37 о36 з35 ц34 в33 т32 п30 м29 б18 г17 ь17 э16 ч15 ў14 й12 ж9 х9 ю9 ё8 ш6 ф3", "", nil},                                                                                                                               // be
	{unicode.Cyrillic, "а119 е90 о90 и90 т80 н77 с50 р48 в47 л34 к33 д32 п29 м24 з21 я18 ъ18 у17 г16 ч15 б13 ж8 ц8 й7 х6 щ5 ш4 ф3 ю1 ь.5", "", nil},                                                                                                                                         // bg
	{unicode.Cyrillic, "о110 е85 а80 и74 н67 т63 с55 р47 в45 л44 к35 м32 д30 п28 у26 я20 ы19 ь17 г17 з17 б16 ч14 й12 х10 ж9 ш7 ю6 ц5 щ4 э3 ф3 ъ.4 ё.4", "", nil},                                                                                                                            // ru
	{unicode.Cyrillic, "а116 и97 о90 е87 н55 р50 с50 т45 ј45 у42 д40 к38 в35 м34 л33 п30 з17 г16 б16 ч10 њ9 ш9 ц8 х7 љ6 ћ6 ж6 ф3 ђ2 џ.5", "", nil},                                                                                                                                          // sr
	{unicode.Cyrillic, "о94 а81 н68 и63 і59 в53 т53 е49 р47 с42 к36 л36 у33 д31 м30 п29 я22 з22 ь18 г16 б16 ч12 х11 й11 ю9 ж8 ц8 ї7 ш7 є6 щ4 ф2 ґ.1", "", nil},                                                                                                                              // uk
	{unicode.Greek, "α105 ο92 ι75 ε75 τ80 ν70 σ49 ς43 η45 υ38 ρ45 π45 κ42 μ36 λ30 ω20 γ19 δ18 θ15 χ14 φ10 β7 ξ5 ζ4 ψ2 ί29 ό22 ά20 έ16 ή13 ύ10 ώ7 ϊ1 ΐ.2 ϋ.2 ΰ.1", "", nil},                                                                                                                  // el
	{unicode.Hebrew, "י110 ו105 ה95 ל75 ר64 א63 ת55 ב53 מ53 ש52 נ35 ע33 ם30 ד29 ח26 כ26 ק22 פ20 ג16 ס16 ן15 ט15 ז14 צ13 ך7 ף3 ץ2", "", nil},                                                                                                                                                 // he
	{unicode.Arabic, "ا130 ل120 ي76 م65 ن65 و60 ر50 ت49 ب43 ع37 ة32 د32 ه30 س29 ف28 أ28 ق23 ك22 ح21 ج15 ش12 ط11 ص10 إ10 خ9 ى9 ث7 ز7 ذ6 ض6 غ5 ء5 ئ4 ظ2 آ2 ؤ1 ً2 ّ1 ُ1 َ1 ِ1 ْ1 ٍ.3 ٌ.3", "", nil},                                                                                            // ar
	{unicode.Arabic, "ا130 ي60 ی60 ر80 د70 ن70 ه60 و60 م55 ت50 ب44 س38 ش30 ک28 ل28 ز26 خ10 گ13 ف12 ق11 ع11 ج10 پ10 آ10 ح8 چ6 ص6 ط5 ض3 ظ3 غ3 ذ2 ث2 ئ3 ژ1 أ1 ؤ.5 ء.5", "", nil},                                                                                                               // fa
	{unicode.Thai, "น65 า62 ร60 อ52 ก50 ่42 เ40 ั40 ้39 ง37 ม33 ย32 ล32 ว32 ิ32 ี30 ด26 ท26 ส26 ค24 ต23 ะ23 ห23 บ22 ป20 แ18 พ18 จ16 ุ16 ์16 ช13 ข13 ู13 ไ12 ื12 ใ11 โ10 ำ10 ็9 ึ8 ซ6 ผ6 ถ6 ศ6 ภ5 ธ5 ณ4 ษ4 ญ3 ฐ2 ฟ2 ๆ2 ฝ1 ฉ1 ฮ1 ฒ.5 ฎ.5 ฤ.5 ฬ.5 ฯ.5 ฏ.2 ฆ.2 ๊.5 ๋.3 ๑.3 ๒.3 ๐.3", "", nil}, // th
}

// The characters that are met most, the first ones more than the last ones, in languages with thousands.
const (
	oftenSimplified = "的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿者向情部正名定女问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教西再平真听世气信北少关并内加化由却代军产入先山五太水万市眼体别处总才场师书比住员九笑性通目华报立马命张活难神数件安表原车白应路期叫死常提感金何更反合放做系计或司利受光王果亲界及今京务制解各任至清物台象记边共风战干接它许八特觉望直服毛林题建南度统色字请交爱让认算论百吃义科怎元社术结六功指思非流每青管夫连远资队跟带花快条院变联言权往展该领传近留红治决周保达办运武半候七必城父强步完革深区即求品士转量空甚众技轻程告江语英基派满式李息写呢识极令黄德收脸钱党倒未持取设始版双历越史商千片容研像找友孩站广改议形委早房音火际则首单据导影失拿网香似斯专石若兵弟谁校读志飞观争究包组造落视济喜离虽坏州率县省赛球队季获击防守"
	oftenHan        = "的一是不了在人有我他這中大來上國個到說們為子和你地出道也時年得就那要下以生會自著去之過家學對可她裡後小麼心多天而能好都然沒日於起還發成事只作當想看文無開手十用主行方又如前所本見經頭面公同三已老從動兩長知民樣現分將外但身些與高意進把法此實回二理美點月明其種聲全工己話兒者向情部正名定女問力機給等幾很業最間新什打便位因重被走電四第門相次東政海口使教西再平真聽世氣信北少關並內加化由卻代軍產入先山五太水萬市眼體別處總才場師書比住員九笑性通目華報立馬命張活難神數件安表原車白應路期叫死常提感金何更反合放做系計或司利受光王果親界及今京務制解各任至清物台象記邊共風戰干接它許八特覺望直服毛林題建南度統色字請交愛讓認算論百吃義科怎元社術結六功指思非流每青管夫連遠資隊跟帶花快條院變聯言權往展該領傳近留紅治決周保達辦運武半候七必城父強步完革深區即求品士轉量空甚眾技輕程告江語英基派滿式李息寫呢識極令黃德收臉錢黨倒未持取設始版雙歷越史商千片容研像找友孩站廣改議形委早房音火際則首單據導影失拿網香似斯專石若兵弟誰校讀志飛觀爭究包組造落視濟喜離"
	oftenKanji      = "日一人年大会国本中長出三同時政事自行社見月分議後前民生連五発間対上部東者党地合市業内相方四定今回新場金員九入選立開手米力学問高代明実円関決子動京全目表戦経通外最言氏現理調体化田当八六約主題下首意法不来作性的要用制治度務強気小七成期公野協取都和統以機平総加山思家話世受区領多県続進正安設保改数記院女初北午指権心界支第産結百派点教報済書府活原先共得解名交資予川向際査勝面委告軍文反元重近千考判認画海参売利組知案道信策集在件団別物側任引使求所次水半品昨論計死官増係感特情投示変打男基私各始島直両朝革価式確村提運終挙果西勢減台広容必応演電歳住争談能無再位置企真流格有疑口過局少放税検藤町常校料沢裁状工建語球営空職証土与急止送援供可役構木割聞身費付施切由説転食比難防補車優夫研収断井何南石足違消境神番規術護展態導鮮備宅害配副算視条幹独警宮究育席輸訪楽起万着乗店述残想線率病農州武声質念待試族象銀域助労例衛然早張映限親額監環験追審商葉義伝働形景落欧担好退準賞訴辺造英被株頭技低毎医復仕去姿味負閣韓渡失移差衆個門写評課末守若脳極種美岡影命含福蔵量望松非撃佐核観察整段横融型白深字答夜製票況音申様財港識注呼渉達"
	oftenHangul     = "이다는의을에하고가지한은를로도기사리어대나인자서정시아해그일수부들과있라제여장상주보스와만전것성구원으거면조동적게년위오공소선우유안국비학개신마화생무경산관모방치미문실할연해당단되발물용회세드러었했르영물음중래던니려했말미분력운트간군내달데두디람레른많명못반배번법복불상습식심아야않알양없역예완외월음의임입작재져종진집차최출크타태터통파포표프피필합행현호활황후"
	oftenKana       = "のにはをたがでてとしれさいるあなっかもこらまりんすくきどよえ"
)

// A cost is what a character costs: the less likely it is, the more, in sixteenths of a bit. Sums of integers don't
// depend on their order.
type cost int

const bit cost = 16

// costOf returns what something costs that has that probability.
func costOf(probability float64) cost {
	return cost(math.Round(-float64(bit) * math.Log2(probability)))
}

// What characters cost that no table has.
const (
	costASCII   = 5 * bit
	costForeign = 17 * bit // a letter that the language doesn't have, in its script
	costOther   = 17 * bit // a letter of another language with thousands
	costPunct   = 9 * bit  // quotes, dashes and the like
	costSymbol  = 14 * bit
)

// A letterModel is a language whose letters have costs.
type letterModel struct {
	writtenLanguage
	costs map[rune]cost
	words map[string]bool
}

var letterModels = sync.OnceValue(func() []letterModel {
	var list []letterModel
	for _, l := range languagesKnown {
		m := letterModel{l, map[rune]cost{}, map[string]bool{}}
		for entry := range strings.FieldsSeq(l.letters) {
			letter := []rune(entry)[0]
			share, err := strconv.ParseFloat(strings.TrimPrefix(entry, string(letter)), 64)
			if err != nil {
				panic(err)
			}
			m.costs[letter] = costOf(share / 1000)
		}
		for word := range strings.FieldsSeq(l.words) {
			m.words[word] = true
		}
		list = append(list, m)
	}
	return list
})

// A charset says which characters a language with thousands of them has, and how often it uses them.
type charset struct {
	often  map[rune]cost
	hangul bool
	kana   bool
	level  func(r rune) cost // what a character costs that is not among the most frequent
}

var charsets = sync.OnceValue(func() []charset {
	often := func(lists ...string) map[rune]cost {
		costs := map[rune]cost{}
		for _, list := range lists {
			n := 0
			for _, r := range list {
				if costs[r] == 0 {
					costs[r] = costOf(0.22 / float64(n+12))
				}
				n++
			}
		}
		return costs
	}
	// levels returns what a character costs by the row that it has in a national standard, whose first rows hold the
	// frequent ones.
	levels := func(encode func(string) (string, error), frequent, rest [2]byte) func(rune) cost {
		return func(r rune) cost {
			b, err := encode(string(r))
			switch {
			case err != nil || len(b) != 2:
				return 22 * bit
			case frequent[0] <= b[0] && b[0] <= frequent[1]:
				return 13 * bit
			case rest[0] <= b[0] && b[0] <= rest[1]:
				return 16 * bit
			}
			return 20 * bit
		}
	}
	return []charset{
		{often: often(oftenSimplified), level: levels(simplifiedchinese.GBK.NewEncoder().String, [2]byte{0xb0, 0xd7}, [2]byte{0xd8, 0xf7})},
		{often: often(oftenHan), level: levels(traditionalchinese.Big5.NewEncoder().String, [2]byte{0xa4, 0xc6}, [2]byte{0xc9, 0xf9})},
		{often: often(oftenKanji, oftenKana), kana: true, level: levels(japanese.ShiftJIS.NewEncoder().String, [2]byte{0x88, 0x97}, [2]byte{0x98, 0xea})},
		{often: often(oftenHangul), hangul: true, level: levels(korean.EUCKR.NewEncoder().String, [2]byte{0xb0, 0xc8}, [2]byte{0xca, 0xfd})},
	}
})

// cost returns what a character costs that is no punctuation.
func (c *charset) cost(r rune) cost {
	if bits, ok := c.often[r]; ok {
		return bits
	}
	switch {
	case unicode.Is(unicode.Hiragana, r), unicode.Is(unicode.Katakana, r) || r == 'ー':
		if !c.kana {
			return costOther
		}
		if 0xff66 <= r && r <= 0xff9d {
			return 14 * bit // half-width
		}
		return 8*bit + bit/2
	case unicode.Is(unicode.Hangul, r):
		if !c.hangul {
			return costOther
		}
		return c.level(r) - bit
	case unicode.Is(unicode.Han, r):
		if c.hangul {
			return c.level(r) + 2*bit
		}
		return c.level(r)
	}
	return costOther
}
