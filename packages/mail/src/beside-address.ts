/**
 * What stands beside words about a recipient, and may make them words about something else: `unknown user group`,
 * `hosting account disabled`, `chown: invalid user`. Nobody can what that may be. So every word of the clause
 * has to be known to leave the meaning as it is. Read in reply-text.ts's form.
 */
import { isKnown, setOf } from './absence-sentence.ts'

/** May stand beside words about the recipient and leave their meaning as it is. */
const BESIDE = setOf(
  `aaaa accounts active addresses admin administrator aliased all alumni anyway apologies also am amazon answered as at because book both bouncing bye
  catch-all child code codes company contact create cuda database dd deliver delivered delivery demo
  dear deleted details directory disabled disposable discontinued dns domain domino done due each either employed encapsulated err error
  errors every example fail failed failure following for firm from generic giving good goodbye graduated groups hello hi having he her him his history
  host hosted impossible ims inactivated inactive inactivity inside intended into its ld ldap least left live lives
  lookup mailboxes may mentioned module msexch mta must mx ne none nope nothing nsu office old only onto oops organisation
  organization path people permanent permanently pm possible post procmail psmtp public rc reached reactivated
  reason reasons receive recent recipients record regret regrets rejected removed rejecting remote reports requested responded
  response return returned rpt-vfy said says see sent server servers service ses set shall she since site
  siteground sl spool srv staff status syntactically system systems table tables than thanks technical tell tells tenant
  that's there's those to told type undeliverable under unread up us users var vdeliver webmail what whom will without
  work working works would write writing written wrote you've`,
)
/** As `BESIDE`, of the other languages: articles, prepositions and the like, and where somebody is not. */
const BESIDE_IN_OTHER_LANGUAGES = setOf(
  `der die das den dem des ein eine einen dieser diese dieses diesem diesen unter mit bei auf im am zu von für ist
  sind wurde wurden werden war hat haben leider es uns unser unsere unserem unserer bitte prüfen schreibweise und oder
  nicht mehr hier domäne bekannt gefunden vorhanden adresse e-mail-adresse empfänger empfängers eingegebene angegebene
  kein keine wir namen verzeichnis domino-verzeichnis postfach nachricht da weil wegen fehler unzustellbar
  le la les l' un une ce cet cette de du aux au est sont été sur dans par pour notre nos serveur domaine système
  destinataire utilisateur compte boîte boite lettres et ou ne pas plus désolé désolés nous chez ici courriel erreur
  saisie saisi indiqué indiquée annuaire car inconnu inconnue électronique desactivee désactivée
  el los las este esta ese esa del al en con para por que ya se está fue ha sido lo sentimos nuestro nuestra servidor
  dominio sistema usuario dirección cuenta correo destinatario buzón porque aquí
  il questo questa di della dello nel nella su per che non stato stata nostro indirizzo utente casella errore perché
  os um uma neste nesta deste do da na em com não foi nosso domínio usuário endereço conta destinatário caixa erro
  lamentamos informado plainpost
  het een dit deze dat op van voor zijn werd niet adres e-mailadres gebruiker postvak domein systeem ons onze en of
  helaas fout
  на по или не нет этот это этого этом нашем сервере домене системе адрес почтовый ящик пользователь получатель
  ошибка такой таким именем больше цьому сервері домені
  抱歉 很抱歉 对不起 您 该 此 本 的 错误 您的邮件 您的 本系统 本系统中 系统中 请检查`,
)
/** Names, hosts and codes say nothing. */
const IDENTIFIER =
  /\b(?:called|named) [a-z]{1,48}(?=$|[.,;])|"[^"\s]{1,48}"|\S{0,48}[\d_@]\S{0,48}|\S{1,48}\.[a-z]\S{0,48}/g
/** What a clause ends at. A colon does not end it: `chown: invalid user`. */
const CLAUSE_END = /[.;!?](?=\s|$)|[()[\]{}]|\s(?:-{1,3}|\/)\s/
/** A place right beside them makes them words about it: `server address not found`, `no local user table`. */
const OF_PLACE =
  '(?:servers?|hosts?|systems?|services?|databases?|tables?|director(?:y|ies)|tenant|domain|organi[sz]ation|company|site|remote|dns|ldap|smtp|serveur|système)'
const IS_OF_OTHER = [
  new RegExp(String.raw`\b${OF_PLACE} {1,3}\u0001`),
  new RegExp(String.raw`\u0001 {1,3}(?:${OF_PLACE}|records?|book)\b`),
]

/** @param marked the sentences, with `mark` for the words about the recipient */
export function isPlainBeside(marked: string, mark: string): boolean {
  if (IS_OF_OTHER.some((one) => one.test(marked))) return false
  return marked
    .split(CLAUSE_END)
    .filter((clause) => clause.includes(mark))
    .flatMap((clause) => clause.replace(IDENTIFIER, ' ').match(/\p{L}[\p{L}'-]+/gu) ?? [])
    .every(isKnownWord)
}

export function isKnownWord(word: string): boolean {
  return isKnown(word) || BESIDE.has(word) || BESIDE_IN_OTHER_LANGUAGES.has(word)
}
