"""What names of columns say, in eight languages: the words for a date of birth, a sex, a postcode, a diagnosis.

A table of words for each topic and language. `*` stands for the beginning or the end of a word (`geburts*`, `*datum`),
`+` joins words that must all be in the name, and a `?` behind a word says that the contents must fit too, since the
word means something else elsewhere (`cap`, `via`, `data`). Names are compared without case, accents and signs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

LANGUAGES = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "nl": "Dutch",
    "pt": "Portuguese", "pl": "Polish",
}  # fmt: skip

WORDS: dict[str, dict[str, str]] = {
    "birth name": {
        "en": "birth+name maiden+name maiden birthname",
        "de": "geburtsname geburts+name",
        "fr": "nom+naissance nom+jeune+fille",
        "es": "apellido+soltera",
        "it": "nome+nascita cognome+nascita",
        "nl": "geboortenaam meisjesnaam",
        "pt": "nome+nascimento nome+solteira",
        "pl": "nazwisko+rodowe nazwisko+panienskie",
    },
    "birth place": {
        "en": "birth+place birthplace birth+city birth+country country+birth place+birth city+birth",
        "de": "geburtsort geburtsland geburtsstadt",
        "fr": "lieu+naissance pays+naissance ville+naissance",
        "es": "lugar+nacimiento pais+nacimiento",
        "it": "luogo+nascita paese+nascita comune+nascita",
        "nl": "geboorteplaats geboorteland",
        "pt": "local+nascimento pais+nascimento naturalidade",
        "pl": "miejsce+urodzenia kraj+urodzenia",
    },
    "birth": {
        "en": "birth born dob birthday birthdate birthyear yob",
        "de": "geburts* geburt geb gebdat* gebjahr geboren",
        "fr": "naissance ddn ne+le",
        "es": "nacimiento fnac fechanac*",
        "it": "nascita nato+il datanascita",
        "nl": "geboorte* geboren gebdatum",
        "pt": "nascimento nasc datanasc*",
        "pl": "urodzenia urodzony ur dataurodzenia rokurodzenia",
    },
    "death": {
        "en": "death died deceased dod deathdate",
        "de": "todes* sterbe* verstorben gestorben",
        "fr": "deces decede",
        "es": "defuncion fallecimiento muerte",
        "it": "decesso morte",
        "nl": "overlijden* overleden sterf*",
        "pt": "obito falecimento morte",
        "pl": "zgonu zgon smierci",
    },
    "age": {
        "en": "age ages",
        "de": "alter altersgruppe alters*",
        "fr": "age",
        "es": "edad",
        "it": "eta",
        "nl": "leeftijd*",
        "pt": "idade",
        "pl": "wiek",
    },
    "sex": {
        "en": "sex gender",
        "de": "geschlecht geschl sex",
        "fr": "sexe genre",
        "es": "sexo genero",
        "it": "sesso genere",
        "nl": "geslacht sekse",
        "pt": "sexo genero",
        "pl": "plec",
    },
    "postcode": {
        "en": "zip zipcode zcta postcode postal postalcode",
        "de": "plz postleitzahl*",
        "fr": "code+postal codepostal cp?",
        "es": "codigo+postal codigopostal cp?",
        "it": "cap? codice+postale codicepostale",
        "nl": "postcode*",
        "pt": "codigo+postal codigopostal cep",
        "pl": "kod+pocztowy kodpocztowy",
    },
    "coordinates": {
        "en": "latitude longitude lat lng lon? long? coordinate coordinates coords geopoint gps geolocation",
        "de": "breitengrad laengengrad langengrad koordinate*",
        "fr": "coordonnees",
        "es": "latitud longitud coordenadas",
        "it": "latitudine longitudine coordinate",
        "nl": "breedtegraad lengtegraad coordinaten",
        "pt": "coordenadas",
        "pl": "szerokosc+geograficzna dlugosc+geograficzna wspolrzedne",
    },
    "e-mail": {
        "en": "email mail emailaddress",
        "de": "email mail mailadresse emailadresse",
        "fr": "courriel mel? email",
        "es": "correo email correoelectronico",
        "it": "email posta+elettronica",
        "nl": "email emailadres",
        "pt": "email correio+eletronico",
        "pl": "email e+mail adres+email",
    },
    "phone": {
        "en": "phone telephone mobile cell? fax tel phonenumber",
        "de": "telefon* handy* mobilnummer tel mobil?",
        "fr": "telephone tel portable? mobile",
        "es": "telefono movil tel",
        "it": "telefono cellulare tel",
        "nl": "telefoon* mobiel? tel gsm",
        "pt": "telefone telemovel celular tel",
        "pl": "telefon* komorka nrtel*",
    },
    "address": {
        "en": "address street streetname housenumber house+number addr",
        "de": "adresse anschrift strasse str? hausnummer hausnr strassenname",
        "fr": "adresse rue? voie?",
        "es": "direccion domicilio calle",
        "it": "indirizzo via? numero+civico",
        "nl": "adres straat* huisnummer",
        "pt": "morada endereco rua?",
        "pl": "adres ulica nr+domu nrdomu",
    },
    "national number": {
        "en": "ssn passport nhs+number nhsnumber nhs+no national+id nationalid nino driving+licence licence license "
        "social+security",
        "de": "steuer+id steuerid steueridentifikationsnummer sozialversicherungsnummer svnr ausweisnummer "
        "personalausweis* reisepass* fuehrerschein* rentenversicherungsnummer",
        "fr": "nir numero+securite+sociale securite+sociale nss passeport carte+identite",
        "es": "dni nie? nif? pasaporte numero+seguridad+social",
        "it": "codice+fiscale codicefiscale cf? passaporto carta+identita",
        "nl": "bsn burgerservicenummer sofinummer paspoort*",
        "pt": "nif nic? cartao+cidadao passaporte niss cpf",
        "pl": "pesel nip? dowod+osobisty nr+dowodu paszport*",
    },
    "insurance number": {
        "en": "insurance+number insurance+no insurance+id policyno policy+number insurer nhi hicn medicare+id "
        "medicaid+id",
        "de": "versicherten* versicherungsnummer versichertennummer kvnr kvnummer krankenversicherten* vsnr "
        "krankenkasse*",
        "fr": "numero+assure assure+numero numero+mutuelle",
        "es": "numero+afiliado afiliacion tarjeta+sanitaria nuhsa cip?",
        "it": "tessera+sanitaria numero+tessera",
        "nl": "verzekerdennummer verzekerings* polisnummer",
        "pt": "numero+utente numero+beneficiario apolice numero+sns",
        "pl": "numer+ubezpieczenia nr+ubezpieczenia numer+polisy",
    },
    "account": {
        "en": "iban account creditcard credit+card cardnumber card+number bic swift",
        "de": "konto* kontonummer bankverbindung kreditkarte*",
        "fr": "compte+bancaire rib? carte+bancaire",
        "es": "cuenta+bancaria numero+cuenta tarjeta+credito",
        "it": "conto+corrente carta+credito",
        "nl": "rekeningnummer bankrekening*",
        "pt": "conta+bancaria nib? numero+conta",
        "pl": "konto+bankowe numer+konta nr+konta",
    },
    "online name": {
        "en": "username login url ip ipaddress nickname twitter facebook",
        "de": "benutzername",
        "fr": "identifiant+connexion pseudo?",
        "es": "usuario",
        "it": "utente+nome nomeutente",
        "nl": "gebruikersnaam",
        "pt": "nome+utilizador",
        "pl": "nazwa+uzytkownika",
    },
    "third person": {
        "en": "physician doctor gp nurse provider surgeon therapist",
        "de": "arzt* aerzt* behandler einsender zuweiser hausarzt operateur",
        "fr": "medecin* docteur infirmier* praticien",
        "es": "medico enfermero enfermera",
        "it": "medico dottore infermiere",
        "nl": "arts huisarts verpleegkundige behandelaar",
        "pt": "medico medica? enfermeiro",
        "pl": "lekarz* pielegniarka",
    },
    "industry": {
        "en": "naics industry sic nace",
        "de": "branche wirtschaftszweig*",
        "fr": "secteur+activite branche+activite code+naf codenaf ape?",
        "es": "cnae sector+actividad",
        "it": "ateco settore+attivita",
        "nl": "bedrijfstak sbi?",
        "pt": "cae? setor+atividade",
        "pl": "pkd? branza",
    },
    "place": {
        "en": "region county state city town district country municipality province village",
        "de": "ort? wohnort stadt land? bundesland kreis landkreis gemeinde gemeindekennziffer ags? region bezirk "
        "stadtteil",
        "fr": "ville commune departement region pays canton domicile residence",
        "es": "ciudad municipio provincia pais comarca poblacion localidad",
        "it": "citta comune provincia regione paese? residenza",
        "nl": "plaats woonplaats gemeente provincie land? stad",
        "pt": "cidade concelho distrito freguesia municipio pais localidade",
        "pl": "miasto miejscowosc gmina powiat wojewodztwo kraj",
    },
    "sampling weight": {
        "en": "sampling+weight sample+weight samplingweight survey+weight design+weight final+weight person+weight "
        "household+weight household+weights weights pweight pweights fnlwgt finalwgt wgt wgts wt? perwt hhwt "
        "expansion+factor inflation+factor grossing+factor",
        "de": "stichprobengewicht* hochrechnungsfaktor* hochrechnung gewichtungsfaktor* designgewicht* "
        "hochrechnungsgewicht*",
        "fr": "poids+sondage poids+individu poids+menage ponderation* coefficient+extrapolation",
        "es": "factor+expansion factor+elevacion ponderacion peso+muestral",
        "it": "peso+campionario peso+campione coefficiente+riporto fattore+espansione",
        "nl": "weegfactor* ophoogfactor* steekproefgewicht*",
        "pt": "fator+expansao ponderador* peso+amostral",
        "pl": "waga+proby waga+analityczna waga+statystyczna",
    },
    "household number": {
        "en": "hid hhid hh+id household+id householdid household+no household+number household+serial hhserial "
        "family+id familyid",
        "de": "haushaltsnummer haushaltsid haushaltsnr haushalt+id haushalt+nr haushalt+nummer hhnr",
        "fr": "menage+id id+menage numero+menage identifiant+menage",
        "es": "hogar+id id+hogar numero+hogar vivienda+id",
        "it": "famiglia+id id+famiglia numero+famiglia codice+famiglia",
        "nl": "huishoudnummer huishoudensnummer huishouden+id",
        "pt": "agregado+id id+agregado numero+agregado",
        "pl": "numer+gospodarstwa id+gospodarstwa",
    },
    "stratum": {
        "en": "stratum strata",
        "de": "schicht? schichtung schichtungsmerkmal stratum",
        "fr": "strate strates",
        "es": "estrato estratos",
        "it": "strato? strati?",
        "nl": "stratum strata",
        "pt": "estrato estratos",
        "pl": "warstwa? stratum",
    },
    "trait": {
        "en": "race ethnicity ethnic nationality citizenship marital married education schooling degree occupation job "
        "profession workclass religion language household children height weight bmi",
        "de": "nationalitaet nationalitat staatsangehoerigkeit staatsangehorigkeit familienstand bildung "
        "schulabschluss "
        "beruf* taetigkeit tatigkeit religion konfession sprache muttersprache haushalt* kinder* koerpergroesse "
        "korpergrosse groesse grosse gewicht koerpergewicht korpergewicht herkunft",
        "fr": "nationalite etat+civil situation+familiale situation+matrimoniale niveau+etude* diplome profession "
        "metier "
        "langue taille poids enfants menage",
        "es": "nacionalidad estado+civil nivel+estudios educacion ocupacion profesion religion idioma talla altura "
        "peso "
        "hijos hogar etnia raza",
        "it": "nazionalita cittadinanza stato+civile istruzione titolo+studio professione occupazione religione lingua "
        "altezza peso figli etnia",
        "nl": "nationaliteit burgerlijke+staat opleiding beroep religie godsdienst taal lengte? gewicht kinderen "
        "huishouden "
        "etniciteit",
        "pt": "nacionalidade estado+civil escolaridade habilitacoes profissao ocupacao religiao idioma altura peso "
        "filhos "
        "agregado etnia raca",
        "pl": "narodowosc obywatelstwo stan+cywilny wyksztalcenie zawod wyznanie jezyk wzrost waga dzieci",
    },
    "diagnosis": {
        "en": "disease diagnosis diagnoses dx icd icd9 icd10 icd10cm icd9cm condition illness disorder symptom allergy "
        "comorbidity",
        "de": "diagnose* erkrankung* krankheit* hauptdiagnose nebendiagnose* symptom* allergie* befund?",
        "fr": "diagnostic* maladie* pathologie* cim10 allergie* symptome*",
        "es": "diagnostico* enfermedad* patologia* cie10 cie9 alergia* sintoma*",
        "it": "diagnosi malattia patologia allergia* sintomo*",
        "nl": "diagnose* ziekte* aandoening* allergie* klacht*",
        "pt": "diagnostico* doenca* patologia* cid10 cid? alergia* sintoma*",
        "pl": "diagnoza rozpoznanie* choroba* alergia* objaw*",
    },
    "treatment": {
        "en": "treatment procedure drug medication medicine prescription therapy atc ndc cpt surgery operation",
        "de": "behandlung* therapie* medikament* wirkstoff* prozedur* ops? arzneimittel* operation",
        "fr": "traitement* medicament* acte+medical ccam? therapie* ordonnance",
        "es": "tratamiento* medicamento* farmaco* procedimiento* terapia*",
        "it": "trattamento* farmaco* terapia* procedura*",
        "nl": "behandeling* medicatie* geneesmiddel* therapie* verrichting*",
        "pt": "tratamento* medicamento* farmaco* procedimento* terapia*",
        "pl": "leczenie lek? leki procedura* terapia*",
    },
    "laboratory": {
        "en": "lab laboratory loinc hba1c creatinine cholesterol glucose hemoglobin haemoglobin leukocytes "
        "platelets crp "
        "result test hiv bloodpressure blood+pressure",
        "de": "labor* laborwert* kreatinin cholesterin blutzucker glukose haemoglobin hamoglobin leukozyten "
        "thrombozyten "
        "blutdruck messwert*",
        "fr": "laboratoire creatinine cholesterol glycemie hemoglobine leucocytes plaquettes",
        "es": "laboratorio creatinina colesterol glucosa hemoglobina leucocitos plaquetas",
        "it": "laboratorio creatinina colesterolo glicemia emoglobina leucociti piastrine",
        "nl": "laboratorium* labwaarde kreatinine creatinine cholesterol glucose hemoglobine leukocyten",
        "pt": "laboratorio creatinina colesterol glicose hemoglobina leucocitos plaquetas",
        "pl": "laboratorium kreatynina cholesterol glukoza hemoglobina leukocyty",
    },
    "money": {
        "en": "salary income wage wages pay earnings debt balance credit cost costs charge charges price amount",
        "de": "gehalt lohn einkommen verdienst kosten betrag schulden entgelt preis umsatz",
        "fr": "salaire revenu* cout* montant dette* prix remuneration",
        "es": "salario sueldo ingresos coste costo importe deuda* precio renta",
        "it": "stipendio salario reddito costo importo debito* prezzo",
        "nl": "salaris loon inkomen kosten bedrag schuld* prijs",
        "pt": "salario rendimento custo montante valor? divida* preco",
        "pl": "wynagrodzenie pensja dochod koszt* kwota dlug cena",
    },
    "secret": {
        "en": "verdict offence crime party vote rating outcome",
        "de": "straftat urteil partei wahl? delikt*",
        "fr": "infraction condamnation parti? vote",
        "es": "delito condena partido voto",
        "it": "reato condanna partito voto?",
        "nl": "misdrijf strafbaar* partij stem?",
        "pt": "crime condenacao partido voto",
        "pl": "przestepstwo wyrok partia glos?",
    },
    "free text": {
        "en": "note notes comment comments remark remarks freetext narrative anamnesis",
        "de": "bemerkung* kommentar* freitext* anamnese* notiz* anmerkung* arztbrief* epikrise",
        "fr": "commentaire* remarque* texte+libre compte+rendu observation*",
        "es": "comentario* observacion* texto+libre anamnesis nota notas informe?",
        "it": "commento commenti osservazion* testo+libero anamnesi nota? referto",
        "nl": "opmerking* toelichting vrije+tekst anamnese notitie*",
        "pt": "comentario* observac* texto+livre anamnese nota notas relatorio?",
        "pl": "uwagi komentarz* opis? notatka* wywiad? tekst+wolny",
    },
    "name": {
        "en": "name surname firstname lastname forename fullname middlename givenname initials",
        "de": "name nachname vorname familienname vollname rufname",
        "fr": "nom prenom nom+famille",
        "es": "nombre apellido apellidos",
        "it": "nome cognome",
        "nl": "naam voornaam achternaam familienaam tussenvoegsel voorletters",
        "pt": "nome apelido sobrenome",
        "pl": "imie nazwisko imiona nazwa?",
    },
    "admission": {
        "en": "admitted admissiondate admission+date admittime admission+time arrival",
        "de": "aufnahme* aufnahmedatum aufndat* einweisung*",
        "fr": "date+admission date+entree dateentree hospitalisation+date",
        "es": "fecha+ingreso fecha+admision",
        "it": "data+ricovero data+ingresso data+accettazione",
        "nl": "opname* opnamedatum",
        "pt": "data+internamento data+admissao data+entrada",
        "pl": "data+przyjecia przyjecie",
    },
    "discharge": {
        "en": "discharged discharge+date dischargedate dischtime discharge+time",
        "de": "entlassung* entlassdatum entlassungsdatum entldat*",
        "fr": "date+sortie datesortie",
        "es": "fecha+alta fecha+egreso",
        "it": "data+dimissione dimissione",
        "nl": "ontslag* ontslagdatum",
        "pt": "data+alta data+saida",
        "pl": "data+wypisu wypis",
    },
    "time": {
        "en": "date time timestamp datetime day month year when visited",
        "de": "datum *datum zeit zeitpunkt zeitstempel uhrzeit tag? monat jahr",
        "fr": "date date* heure horodatage jour mois annee an?",
        "es": "fecha hora dia mes ano?",
        "it": "data? ora? giorno mese anno",
        "nl": "datum *datum tijd tijdstip dag maand jaar",
        "pt": "data? hora dia mes ano?",
        "pl": "data? czas godzina dzien miesiac rok",
    },
}  # fmt: skip

PERSON_WORDS = (
    "patient person subject member client customer user beneficiary participant individual respondent employee student "
    "pupil resident citizen mrn pid dupersid personid patientid subjectid userid memberid customerid "
    "patienten* patientin patnr patid proband* versicherter teilnehmer* mitarbeiter* kunde kunden* pseudonym "
    "patiente assure adherent beneficiaire salarie eleve paciente sujeto participante empleado cliente asegurado "
    "paziente soggetto assistito dipendente partecipante deelnemer* patientnummer medewerker klant utente doente "
    "trabalhador aluno pacjent* osoba uczestnik* pracownik* klient*"
)
"""Words for the person whom a record is about; with a word for an event of theirs the column names the event."""
RECORD_WORDS = (
    "record row visit admission encounter case event transaction order claim stay episode entry sample hadm line "
    "fall? fallnummer fallnr fallid zeile aufenthalt* besuch beleg probe "
    "sejour passage venue? dossier? visite enregistrement ligne ingreso+numero episodio visita muestra fila registro "
    "ricovero campione riga bezoek opnamenummer monster? regel? consulta amostra linha wizyta pobyt probka wiersz"
)
ID_WORDS = (
    "id ident identifier key no nr number num code index kennung kennzeichen nummer *nummer schluessel lfdnr "
    "numero identifiant cle codigo clave identificador codice identificativo kenmerk sleutel chave identyfikator "
    "numer klucz"
)


LETTERS: dict[str, str | int | None] = {"ß": "ss", "ł": "l", "Ł": "L", "æ": "ae", "ø": "o", "œ": "oe"}
"""Letters that Unicode does not take apart."""


@dataclass(frozen=True)
class Known:
    """What a name says: the topic, in which languages, and whether the contents must fit for it to count."""

    topic: str
    languages: tuple[str, ...]
    needs_contents: bool

    @property
    def told(self) -> str:
        """The languages in words; nothing where the word is English."""
        return "" if "en" in self.languages else f" ({' or '.join(LANGUAGES[code] for code in self.languages)})"


def folded(name: str) -> str:
    """A name without accents and ligatures, in the case that it has."""
    spelled = name.translate(str.maketrans(LETTERS))
    return "".join(sign for sign in unicodedata.normalize("NFKD", spelled) if not unicodedata.combining(sign))


def words_of(name: str) -> list[str]:
    """The words of a column name in lower case: `zip_code` and `zipCode` are zip, code, and both together."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", folded(name))
    words = [word for word in re.split(r"[^a-z0-9]+", apart.lower()) if word]
    return [*words, "".join(words)] if len(words) > 1 else words


@lru_cache(maxsize=1024)
def topics_of(name: str) -> tuple[Known, ...]:
    """What a name says, the most particular first; several where a word has several meanings."""
    words = words_of(name)
    found = []
    for topic, by_language in WORDS.items():
        hits = {language: all(weak) for language, entries in by_language.items() if (weak := _matching(entries, words))}
        if hits:
            strong = tuple(language for language, is_weak in hits.items() if not is_weak)
            found.append(Known(topic, strong or tuple(hits), not strong))
    return tuple(found)


def names_a(words: Sequence[str], entries: str) -> bool:
    """Whether one of the words is in a list; words that need the contents do not count."""
    return not all(_matching(entries, words))


def _matching(entries: str, words: Sequence[str]) -> list[bool]:
    """Of the entries that the words match, whether each needs the contents."""
    single, several = _taken_apart(entries)
    return [
        *(single[word] for word in words if word in single),
        *(is_weak for parts, is_weak in several if all(any(_is_like(word, part) for word in words) for part in parts)),
    ]


@cache
def _taken_apart(entries: str) -> tuple[dict[str, bool], list[tuple[list[str], bool]]]:
    """The entries that are one whole word, looked up at once, and those with a star or of several parts."""
    single: dict[str, bool] = {}
    several = []
    for entry in entries.split():
        word, is_weak = entry.rstrip("?"), entry.endswith("?")
        if "*" in word or "+" in word:
            several.append((word.split("+"), is_weak))
        else:
            single[word] = is_weak and single.get(word, True)
    return single, several


def _is_like(word: str, part: str) -> bool:
    """Whether a word is a part of an entry, in which a star stands for any letters."""
    if "*" not in part:
        return word == part
    first, *middle, last = part.split("*")
    at, behind = len(first), len(word) - len(last)
    if at > behind or not word.startswith(first) or not word.endswith(last):
        return False
    for piece in middle:
        at = word.find(piece, at, behind) + len(piece)
        if at < len(piece):
            return False
    return True
