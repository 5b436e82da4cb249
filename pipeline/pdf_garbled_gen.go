//go:build ignore

// This program writes pdf_garbled_table.go: how likely one letter follows another in the words of Latin,
// Cyrillic and Greek script, over languages mixed.
//
//	go run pdf_garbled_gen.go FOLDER >pdf_garbled_table.go
//
// FOLDER holds Snowball's word lists voc_*.txt (BSD), such as test_data of the crate rust-stemmers 1.2.0; languages
// without a list there are told of by the sentences below, which were written for it.
package main

import (
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

type script struct {
	name, letters string
	replace       *strings.Replacer
	lists         []string
	texts         []string
}

var scripts = []script{
	{
		"latinPairs", "abcdefghijklmnopqrstuvwxyz",
		strings.NewReplacer("ø", "o", "æ", "ae", "œ", "oe", "ß", "ss", "ł", "l", "đ", "d", "ı", "i"),
		[]string{"en", "es", "fi", "fr", "ger", "it", "no", "pt", "ro"},
		[]string{
			// Polish
			`Każdy dokument ma swoje miejsce i każda strona ma swój numer. Jeśli coś zginie podczas czytania, nie znajdzie tego żadne wyszukiwanie.
Zwrot towaru jest możliwy w ciągu trzydziestu dni od daty dostawy, pod warunkiem że przesyłka nie została uszkodzona. Prosimy o zachowanie paragonu.
Dziewczyna szła powoli przez las, a za nią biegł pies, który szczekał na wszystko, co się ruszało. Wczoraj wieczorem padał śnieg, dzisiaj świeci słońce.
W przypadku pytań należy skontaktować się z biurem obsługi klienta, które jest czynne od poniedziałku do piątku. Między innymi chcemy, żeby wszystkie książki były dostępne.`,
			// Czech
			`Každý dokument má své místo a každá stránka má své číslo. Co se ztratí při čtení, to už žádné vyhledávání nenajde.
Zboží můžete vrátit do třiceti dnů od doručení, pokud není poškozené. Předem děkujeme za zaslání dokladu o koupi.
Dívka šla pomalu lesem a za ní běžel pes, který štěkal na všechno, co se hýbalo. Včera večer sněžilo, dnes svítí slunce a všude je příjemně teplo.
S dotazy se obracejte na zákaznické oddělení, které je otevřeno od pondělí do pátku. Chtěli bychom, aby všechny knihy byly přístupné.`,
			// Turkish
			`Her belgenin bir yeri ve her sayfanın bir numarası vardır. Okurken kaybolan şeyi artık hiçbir arama bulamaz.
Ürünler teslim tarihinden sonra otuz gün içinde iade edilebilir, ancak paketin zarar görmemiş olması gerekir. Lütfen fişinizi saklayınız.
Küçük kız ormanda yavaş yavaş yürüyordu, arkasından koşan köpek kıpırdayan her şeye havlıyordu. Dün akşam kar yağdı, bugün ise güneş çok güzel parlıyor.
Sorularınız için pazartesiden cumaya kadar açık olan müşteri hizmetlerine başvurabilirsiniz. Bütün kitapların herkes tarafından okunabilmesini istiyoruz.`,
			// Vietnamese
			`Mỗi tài liệu đều có vị trí của nó và mỗi trang đều có số của mình. Những gì bị mất khi đọc thì không có cách tìm kiếm nào tìm lại được.
Hàng hóa có thể được trả lại trong vòng ba mươi ngày kể từ ngày giao hàng, với điều kiện là bao bì không bị hư hỏng. Xin quý khách vui lòng giữ lại hóa đơn.
Cô gái đi chậm rãi qua khu rừng, phía sau là con chó chạy theo và sủa vào tất cả những thứ đang chuyển động. Tối hôm qua trời mưa, hôm nay nắng đẹp.
Nếu có câu hỏi, xin liên hệ với bộ phận chăm sóc khách hàng làm việc từ thứ hai đến thứ sáu. Chúng tôi muốn mọi người đều được đọc sách.`,
			// Hungarian
			`Minden dokumentumnak megvan a helye, és minden oldalnak megvan a száma. Ami az olvasás közben elvész, azt semmilyen keresés nem találja meg többé.
Az áru a kézbesítéstől számított harminc napon belül visszaküldhető, ha a csomagolás nem sérült meg. Kérjük, őrizze meg a számlát.
A lány lassan ment az erdőben, mögötte egy kutya szaladt, és mindent megugatott, ami mozgott. Tegnap este havazott, ma viszont szépen süt a nap.
Kérdéseivel forduljon az ügyfélszolgálathoz, amely hétfőtől péntekig tart nyitva. Szeretnénk, hogy minden könyv mindenki számára elérhető legyen.`,
			// Dutch
			`Elk document heeft zijn plaats en elke bladzijde heeft een nummer. Wat bij het lezen verloren gaat, vindt geen enkele zoekopdracht ooit nog terug.
Goederen kunnen binnen dertig dagen na levering worden teruggestuurd, mits de verpakking niet beschadigd is. Bewaar alstublieft uw kassabon.
Het meisje liep langzaam door het bos, achter haar aan rende een hond die naar alles blafte wat bewoog. Gisteravond sneeuwde het, vandaag schijnt de zon.
Met vragen kunt u terecht bij de klantenservice, die van maandag tot en met vrijdag geopend is. Wij willen graag dat alle boeken voor iedereen beschikbaar zijn.`,
			// Swedish
			`Varje dokument har sin plats och varje sida har sitt nummer. Det som går förlorat vid läsningen hittar ingen sökning någonsin igen.
Varor kan skickas tillbaka inom trettio dagar efter leverans, om förpackningen inte är skadad. Var vänlig och spara ditt kvitto.
Flickan gick långsamt genom skogen, och efter henne sprang en hund som skällde på allting som rörde sig. I går kväll snöade det, men i dag skiner solen.
Frågor besvaras av kundtjänst, som har öppet från måndag till fredag. Vi vill att alla böcker ska kunna läsas av alla människor.`,
			// Indonesian
			`Setiap dokumen mempunyai tempatnya dan setiap halaman mempunyai nomornya. Apa yang hilang ketika dibaca tidak akan ditemukan lagi oleh pencarian mana pun.
Barang dapat dikembalikan dalam waktu tiga puluh hari setelah pengiriman, asalkan kemasannya tidak rusak. Mohon simpan bukti pembayaran Anda.
Gadis itu berjalan perlahan melalui hutan, dan di belakangnya seekor anjing berlari sambil menggonggong. Kemarin malam hujan turun, sekarang matahari bersinar.`,
		},
	},
	{
		"cyrillicPairs", "абвгдежзийклмнопрстуфхцчшщъыьэюя",
		strings.NewReplacer("ё", "е", "і", "и", "ї", "и", "є", "е", "ґ", "г", "ў", "у", "ј", "й", "љ", "л", "њ", "н", "џ", "ч", "ђ", "ч", "ћ", "ч", "ѓ", "г", "ќ", "к", "ѕ", "з"),
		[]string{"ru"},
		[]string{
			// Ukrainian
			`Кожен документ має своє місце, і кожна сторінка має свій номер. Що загубиться під час читання, того вже не знайде жоден пошук.
Товар можна повернути протягом тридцяти днів після доставки, якщо упаковка не пошкоджена. Будь ласка, збережіть квитанцію.
Дівчина повільно йшла лісом, а за нею біг собака, який гавкав на все, що рухалося. Учора ввечері йшов сніг, а сьогодні світить сонце.`,
			// Bulgarian
			`Всеки документ има своето място и всяка страница има своя номер. Каквото се изгуби при четенето, никое търсене вече не го намира.
Стоката може да бъде върната в срок от тридесет дни след доставката, ако опаковката не е повредена. Моля, запазете касовата бележка.
Момичето вървеше бавно през гората, а след него тичаше куче, което лаеше по всичко, което се движи. Снощи валя сняг, днес грее слънце.`,
			// Serbian
			`Сваки документ има своје место и свака страница има свој број. Што се изгуби при читању, то више ниједна претрага не може да нађе.
Роба се може вратити у року од тридесет дана након испоруке, ако паковање није оштећено. Молимо вас да сачувате рачун.
Девојчица је полако ишла кроз шуму, а за њом је трчао пас који је лајао на све што се миче. Синоћ је падао снег, а данас сија сунце.`,
		},
	},
	{"greekPairs", "αβγδεζηθικλμνξοπρστυφχψω", strings.NewReplacer("ς", "σ"), nil, []string{
		`Κάθε έγγραφο έχει τη θέση του και κάθε σελίδα έχει τον αριθμό της. Ό,τι χαθεί κατά την ανάγνωση, καμία αναζήτηση δεν θα το βρει ποτέ ξανά.
Τα προϊόντα μπορούν να επιστραφούν μέσα σε τριάντα ημέρες από την παράδοση, εφόσον η συσκευασία δεν έχει υποστεί ζημιά. Παρακαλούμε να φυλάξετε την απόδειξη αγοράς.
Το κορίτσι περπατούσε αργά μέσα στο δάσος και πίσω του έτρεχε ένας σκύλος που γάβγιζε σε ό,τι κουνιόταν. Χθες το βράδυ χιόνισε, σήμερα όμως λάμπει ο ήλιος και παντού επικρατεί ψυχραιμία.
Για ερωτήσεις απευθυνθείτε στο τμήμα εξυπηρέτησης πελατών, που είναι ανοιχτό από Δευτέρα έως Παρασκευή. Θέλουμε όλα τα βιβλία να είναι προσιτά σε όλους τους ανθρώπους.`,
	}},
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: go run pdf_garbled_gen.go FOLDER")
	}
	fmt.Print("// Code generated by pdf_garbled_gen.go; DO NOT EDIT.\n\npackage pipeline\n\n")
	fmt.Print("// Each table has a row for a letter and one last for the place before a word, and in it a sign for each letter\n// that follows and the word's end: '!' and as many characters on as the eighths of bits that this costs.\nconst (\n")
	for i, s := range scripts {
		if i > 0 {
			fmt.Println()
		}
		s.write()
	}
	fmt.Println(")")
}

func (s script) write() {
	letters := []rune(s.letters)
	n := len(letters) + 1
	index := map[rune]int{}
	for i, c := range letters {
		index[c] = i
	}
	sum := make([]float64, n*n)
	add := func(text string, weight float64) {
		counts, total := make([]float64, n*n), 0.0
		text = s.replace.Replace(strings.ToLower(text))
		text = strings.Map(func(c rune) rune {
			if unicode.Is(unicode.Mn, c) {
				return -1
			}
			return c
		}, norm.NFD.String(text))
		text = s.replace.Replace(text)
		for _, word := range strings.FieldsFunc(text, func(c rune) bool { _, ok := index[c]; return !ok }) {
			last := n - 1
			for _, c := range word + " " {
				next, ok := index[c]
				if !ok {
					next = n - 1
				}
				counts[last*n+next]++
				total++
				last = next
			}
		}
		for i, c := range counts {
			sum[i] += weight * c / total
		}
	}
	for _, list := range s.lists {
		data, err := os.ReadFile(filepath.Join(os.Args[1], "voc_"+list+".txt"))
		if err != nil {
			log.Fatal(err)
		}
		add(string(data), 1)
	}
	for _, text := range s.texts {
		add(text, 0.5)
	}
	fmt.Printf("\t%s = \"\" +\n", s.name)
	for a := range n {
		row, total := sum[a*n:][:n], 0.0
		for _, c := range row {
			total += c
		}
		var b strings.Builder
		for _, c := range row {
			p := 0.98*c/total + 0.02/float64(n)
			b.WriteByte('!' + byte(math.Round(-8*math.Log2(p))))
		}
		end := " +"
		if a == n-1 {
			end = ""
		}
		fmt.Printf("\t\t%s%s\n", fmt.Sprintf("%q", b.String()), end)
	}
}
