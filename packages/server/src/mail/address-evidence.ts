/**
 * What a refusal has to say before an address is suppressed: codes and words about the address itself, and
 * what speaks against them (docs/reference/suppressions.md#bounces). Data, with where each comes from.
 *
 * The words are read in reply-text.ts's form: lower case, without codes, addresses and URLs. They are few
 * and exact, for a wrong suppression loses a person's mail and nobody notices. reply-table.ts, which finds a
 * sentence for `failed_reason`, may guess; nothing here does. What is known for an address in a language is
 * known against it in that language, too. Every pattern is linear in its input.
 */
import type { FailureCategory } from './failure-category.ts'

export interface AddressCode {
  readonly code: string
  readonly is: FailureCategory
  readonly says: string
  readonly source: string
}

export const ADDRESS_CODES: readonly AddressCode[] = [
  {
    code: '5.1.1',
    is: 'invalid_recipient',
    says: 'the mailbox does not exist',
    source: 'RFC 3463 §3.2',
  },
  {
    code: '5.1.2',
    is: 'invalid_recipient_domain',
    says: 'the domain does not exist, or takes no mail',
    source: 'RFC 3463 §3.2',
  },
  {
    code: '5.1.3',
    is: 'invalid_recipient',
    says: 'the address is written wrongly',
    source: 'RFC 3463 §3.2',
  },
  {
    code: '5.1.6',
    is: 'invalid_recipient',
    says: 'the mailbox has moved, and nobody says where to',
    source: 'RFC 3463 §3.2',
  },
  {
    code: '5.1.10',
    is: 'invalid_recipient_domain',
    says: 'the domain says that it takes no mail; at Exchange Online: the mailbox does not exist',
    source: 'RFC 7505, Exchange Online non-delivery reports',
  },
  {
    code: '5.2.1',
    is: 'mailbox_disabled',
    says: 'the mailbox is disabled',
    source: 'RFC 3463 §3.3',
  },
]

/** Codes that say no more than that it failed, or that some address is wrong: words decide. */
export const GENERAL_CODE = /^5\.(?:[0-6]\.0|1\.(?![789]$|90$)\d+|4\.(?:1|4|310))$/

/** Codes of which some servers' words (`Access denied`) say less than they mean. They are no evidence either. */
export const ADDRESS_HINT = /^5\.4\.(?:1|4|310)$/

/** A name or what is left of an address, which reply-text.ts takes out. */
const NAME = String.raw`(?: ?["'(<[] ?[^\s"'()<>[\]]{0,64} ?["')>\]])?`
const KIND =
  '(?:(?:or illegal|or unknown|local|virtual|e-?mail|mail|recipient|destination|target|final delivery|smtp) ){0,2}'
const WHO = String.raw`(?:user|recipient|rcpt|mail ?box|mail ?drop|account|address|addressee|customer|subscriber|alias|e-?mail (?:id|name|user)|user ?id|local[- ]?part|person)(?:(?: ?id)? ?name)?(?:\(s\)|e?s)?`
/** Nothing that makes it mail of some kind: `larger than`, `without TLS`. */
const OF_ANY_KIND =
  '(?! (?:at|because|by|due|during|for|from|in|larger|of|on|or|outside|over|than|that|this|through|to|under|unless|until|using|via|when|while|with|without|written|yet)\\b)'
/** `invalid recipient count` and `unknown user type` are about something else. */
const ALONE = String.raw`\b(?!(?:'s)?[ -](?:of|agents?|clients?|class|commands?|counts?|data|fields?|formats?|groups?|in (?:the )?(?:headers?|from)|input|lists?|loops?|options?|parameters?|password|profile|requests?|sessions?|stat(?:e|us)|types?)\b(?!:))`
const MEANT =
  '(?: (?:that )?you (?:tried to (?:reach|contact)|entered|typed|specified|sent (?:to|(?:your|the) message to)))?'
const BE =
  '(?: (?:is|was|are|were|has been|have been|seems to be))?(?: (?:now|currently|already|either|also|an?))?'
const HERE =
  '(?:here|on file|in (?:(?:this|our|the|any) )?(?:system|domain|directory|database|server|organi[sz]ation|table|list|ldap)|(?:at|on|with) (?:this|our|the) (?:site|host|server|system|domain|location|machine))'
const MISSING = `(?:unknown|not ?found|(?:was|were)n'?t found|not (?:be )?known|isn'?t known|non-?exist[ae]nt|inexist[ae]nt|invalid|in?valid|not valid|wrong|incorrect|undefined|not defined|un-?recogni[sz]ed|not (?:be )?recogni[sz]ed|(?:does not|do not|does ?n'?t|don'?t|did not|didn'?t|not|no longer) exists?|not registered|not listed|not present|not ${HERE}|(?:cannot|can ?not|can'?t|could not|couldn'?t) be (?:found|located|recogni[sz]ed)|no longer (?:valid|available|active|exists|in use|used|employed|${HERE}|with (?:us|this|our|the)|(?:on|with|at) (?:(?:this|our|the) )?(?:server|system|company|domain|organi[sz]ation))|no longer accept(?:s|ing) (?:e-?)?mails?\\b${OF_ANY_KIND}|has left (?:the|our|this) (?:company|organi[sz]ation))`
const DISABLED =
  '(?:(?:administratively|permanently) )?(?:disabled|deactivated|de-activated|inactivated|inactive|terminated|discontinued|dormant|not active|(?:not|never) (?:been )?activated)'
/** Only of what was done to the mailbox: `user deleted your message`. */
const ENDED = '(?:deleted|removed|archived|closed|cancell?ed|expired|frozen)'
const words = (pattern: string): RegExp => new RegExp(pattern)

export interface AddressWords {
  readonly is: FailureCategory
  readonly words: RegExp
  /** Only after a reply code, and not after that of a full mailbox: without one they are too vague. */
  readonly needsReply?: true
  /** Only where nothing else is said, for what speaks against it in that language is not known. */
  readonly isAll?: true
  /** Only of a report's own words: after a reply code it may be the sender's host. */
  readonly isReporters?: true
}

/** Words that name the recipient as unknown or disabled, or its domain as one that does not exist. */
export const ADDRESS_WORDS: readonly AddressWords[] = [
  {
    is: 'invalid_recipient',
    words: words(
      String.raw`\b(?:no such|unknown|undefined|un-?recogni[sz]ed|non-?exist[ae]nt|invalid|not an? (?:existing|valid|known|local|registered|active)|isn'?t an? (?:existing|valid|known|local|registered|active)):?[ -](?:or unknown )?${KIND}${WHO}${ALONE}|\bbad (?:destination |recipient )(?:mail ?box|address)?\b|\bbad-recipient\b|\buserunknown\b`,
    ),
  },
  {
    is: 'invalid_recipient',
    words: words(
      String.raw`(?:\b${WHO}${NAME}|<[^<>\s]{1,64}>)${MEANT}[,:.]{0,3}${BE} ${MISSING}\b|\b(?:cannot|can ?not|can'?t|could not|couldn'?t|unable to|did not|didn'?t|not able to) (?:find|locate|recogni[sz]e) (?:(?:the|this|that|a|an|any|such|your) ){0,2}${KIND}${WHO}${ALONE}`,
    ),
  },
  {
    is: 'mailbox_disabled',
    words: words(
      String.raw`(?:\b${WHO}${NAME}|<[^<>\s]{1,64}>)(?: (?:or|and) (?:domain|${WHO}))?${MEANT}[,:.]{0,3}${BE} ${DISABLED}\b|\b${WHO}${NAME}${MEANT} (?:is|was|has been|have been|were)(?: (?:now|already|permanently))? ${ENDED}(?=$|[\s.,;:)!])(?! your)|\b${WHO}(?: (?:is|was|has been))? (?:blocked|closed|suspended|disabled|locked|expired|removed|deleted) (?:due to|because of|for) (?:inactivity|non-?use|lack of use)\b|\b(?:disabled|deactivated|inactive|archived|terminated) ${KIND}${WHO}${ALONE}|\ba (?:disabled|deactivated|closed|deleted) ${KIND}${WHO}${ALONE}`,
    ),
  },
  {
    is: 'invalid_recipient',
    words: words(
      String.raw`\bno (?:such )?person\b|\bno (?:matching|local) ${WHO}${ALONE}(?: found)?|\bno (?:user|person|recipient) of that name\b|\bno record of (?:(?:this|that|such|a|an) ){1,2}${WHO}\b|\bno mail ?box by that name is (?:currently )?available\b|\bmissing home directory\b|\baddress look ?up in \S{1,40} (?:map|table) failed\b|\buser not a member of domain\b|\be-?mail (?:does not|doesn'?t|not) exists?\b|\bno(?: ?one|body) (?:here )?(?:(?:by|with|of|under|called|named|at) (?:that|this|the)|here)\b(?: e-?mail)?(?: (?:name|address))?|\b(?:no|without an?) (?:${KIND}(?:mail ?box|user|account|recipient|address|subscriber|customer)(?:es|s)?) (?:here|available|found|exists?|matche[sd]|matching|known|registered|defined|by|with|of|under|for|at|on) ?(?:by|with|of|under|for|at|on)? ?(?:that|this|the|user)? ?(?:name|address|user|domain|host|server|system)?\b|\bnot our (?:customer|user)\b|\b(?:does not|doesn'?t|has not|hasn'?t) (?:have|got) (?:an?|any) (?:\S{1,64} )?(?:account|mail ?box)\b|\bno user record found\b|\bnot listed in (?:(?:the|public|domino) ){0,2}(?:name (?:& |and )?)?(?:address )?(?:book|directory)\b|\bunroute?able address\b|\brecip(?:ient)?notfound\b|\bno longer (?:works?|lives?) (?:here|at|for)\b|\bno longer an? (?:employee|customer|subscriber|user)\b`,
    ),
  },
  {
    is: 'invalid_recipient',
    words:
      /\b(?:utilisateur|destinataire|adresse|compte|bo.te(?: aux lettres)?|abonn.)(?: address)?(?: (?:est|semble))? (?:inconnue?|introuvable|inexistante?|invalide|incorrecte?|n'existe (?:pas|plus)|n'est plus (?:valide|acti[fv]e?)|d.sactiv.e?|supprim.e?)(?![\p{L}])|\baucune? (?:utilisateur|destinataire|compte|bo.te) (?:de|avec|.) (?:ce|cette) (?:nom|adresse)\b|\bn'existe (?:pas|plus)\b|\bau moins un destinataire invalide\b/u,
  },
  {
    is: 'invalid_recipient',
    words:
      /\b(?:benutzer|nutzer|teilnehmer|empf(?:.|ae)nger(?:adresse)?|adresse|adressat|postfach|mailbox|konto)(?: address)?(?: (?:ist|wurde))? (?:unbekannt|existiert (?:hier )?nicht|gibt es (?:hier )?nicht|nicht (?:gefunden|bekannt|vorhanden|existent)|ung(?:.|ue)ltig|deaktiviert|gel(?:.|oe)scht)\b|\b(?:unbekannte|ung(?:.|ue)ltige)[rsn]? (?:empf(?:.|ae)nger(?:adresse)?|benutzer(?:name)?|adresse|postfach|mailbox)\b|\bkeine?n? (?:solche[rsn]? )?(?:benutzer|empf(?:.|ae)nger|postfach|mailbox) (?:gefunden|vorhanden|mit diesem namen|unter dieser adresse)\b/,
  },
  {
    is: 'invalid_recipient',
    words:
      /\b(?:usuario|destinatario|buz.n|casilla|direcci.n|cuenta)(?: (?:de correo|address))?(?: (?:es|est.|fue|ha sido))? (?:ha (?:expirado|caducado)(?: por falta de uso)?|desconocid[oa]|no existe|inexistente|no (?:fue )?encontrad[oa]|inv.lid[oa]|no (?:es )?v.lid[oa]|no (?:se )?encuentra|deshabilitad[oa]|desactivad[oa]|inactiv[oa]|eliminad[oa]|dad[oa] de baja)\b|\bno existe (?:(?:la|el|dich[oa]|es[et][ea]?|ning.n) ){0,2}(?:persona|usuario|cuenta|buz.n|casilla|direcci.n|destinatario)\b/,
  },
  {
    is: 'invalid_recipient',
    words:
      /\b(?:utente|destinatario|casella(?: di posta)?|indirizzo|account)(?: address)?(?: (?:.'?|risulta|.stat[oa]))? ?(?:bloccat[oa] per inutilizzo|sconosciut[oa]|inesistente|non (?:esiste|esistente|trovat[oa]|valid[oa]|attiv[oa])|errat[oa]|disattivat[oa]|disabilitat[oa]|cessat[oa])\b|\bnon esiste (?:(?:la|il|quest[oa]|l'|nessun) ?){0,2}(?:utente|casella|indirizzo|destinatario)\b/,
  },
  {
    is: 'invalid_recipient',
    words:
      /\b(?:usu.rio|destinat.rio|conta|caixa(?: postal)?|endere.o)(?: (?:de e-?mail|address))?(?: (?:.|est.|foi))? (?:desconhecid[oa]|n.o existe|inexistente|n.o (?:foi )?encontrad[oa]|inv.lid[oa]|desativad[oa]|inativ[oa])\b|\bn.o existe (?:(?:o|a|este|esta) )?(?:usu.rio|destinat.rio|conta|caixa)\b|\b(?:gebruiker|ontvanger|postvak|adres)(?: address)?(?: is)? (?:onbekend|bestaat niet|niet gevonden|ongeldig)\b|\bonbekende? (?:gebruiker|ontvanger|adres)\b/,
  },
  {
    is: 'invalid_recipient',
    isAll: true,
    words:
      /(?:odbiorca|u.ytkownik|konto|adres)(?: address)? (?:nie istnieje|nieznany)|nie ma takiego (?:u.ytkownika|konta)|konto jest nieaktywne|mottagaren (?:finns inte|ok.nd)|ukendt (?:modtager|bruger)|ukjent (?:mottaker|bruker)|u.ivatel neexistuje|(?:такого )?(?:пользовател[ья]|адреса?|ящика?)(?: address)? не (?:существует|найден)|(?:нет такого|неизвестный) (?:пользователя|пользователь|адреса|ящика)|(?:用户|收件人|邮箱|地址)(?:address|\s)*不存在|非本邮件系统用户|ユーザーが存在しません|존재하지 않는 (?:사용자|수신자)/,
  },
  {
    is: 'invalid_recipient_domain',
    words: words(
      String.raw`\b(?:(?:host or |dns )?domain(?: name)?(?: ?["'(<[]?(?:[a-z\d-]{1,63}\.){1,8}[a-z\d-]{1,63}["')>\]]?)?|host(?: or domain)? name|host or domain)(?: is)? (?:(?:does not|doesn'?t) exist|not found|unknown|(?:cannot|can'?t|could not|couldn'?t) be (?:found|resolved))\b|\b(?:no such|non-?exist[ae]nt|unroute?able|unknown|invalid) (?:(?:recipient|destination) )?(?:mail )?domain\b|\bdns hard error looking up \S{1,255} \((?:mx|a|aaaa)\): nxdomain\b|\b(?:dns error: \d{1,20} )?dns type '?mx'? lookup of \S{1,255} responded with code nxdomain\b|\bnxdomain\b|\bnull ?mx\b|\bindicated no smtp service\b|\b(?:domain|host)(?: ?(?:[a-z\d-]{1,63}\.){1,8}[a-z\d-]{1,63})? does(?: not|n'?t) accept (?:(?:any|incoming) )?(?:e-?)?mails?\b${OF_ANY_KIND}|\bbad destination (?:system|host)\b`,
    ),
  },
  { is: 'mailbox_disabled', words: /\baccount (?:closed|expired|deleted|removed)\b/, isAll: true },
  {
    is: 'invalid_recipient_domain',
    words: /\b(?:unknown host|host (?:unknown|not found))\b/,
    isAll: true,
    isReporters: true,
  },
  // RFC 5321 §4.2.3 has these for 550, "mailbox not found, no access, or … policy": the first as a rule.
  {
    is: 'invalid_recipient',
    words: /\b(?:mail ?box|recipient|user|account|address)(?: is)? (?:unavailable|not available)\b/,
    needsReply: true,
  },
]

/**
 * What says nothing of a cause: that it was not delivered, advice to whoever reads it, and what servers write
 * for themselves.
 */
export const HARMLESS: readonly RegExp[] = [
  /\b(?:please )?(?:try )?(?:re-?|double-?)?(?:check(?:ing)?|verify|correct|confirm)\b(?! fail)[^.;!?]{0,60}\b(?:address|spelling|recipient|typos|spaces|name)\b(?:[^.;!?]{0,60}\b(?:and|before) (?:try(?:ing)?|re-?send(?:ing)?|send(?:ing)?)(?: (?:it|(?:your|the) message))?(?: again)?)?/g,
  /\b(?:please )?(?:check|verify|correct|confirm)(?: it)? and (?:try again|re-?send)/g,
  /\b(?:please )?contact [^.;!?]{0,80}/g,
  /\b(?:your |the |this )?(?:e-?mail|message|mail)(?: to (?:the )?(?:address|recipient|user))?,? (?:was|is|has been|could|can|has|will)(?: ?not|n'?t) (?:be |been )?(?:accepted|delivered|sent)\b(?! (?:for|because|due|by|from)\b)/g,
  /\bi will not accept (?:it|(?:your|this) (?:mail|message))\b/g,
  /\b(?:permanent|delivery|transaction|mail) (?:has )?fail(?:ed|ure)(?: for one or more recipients)?/g,
  /\b(?:for|to get) (?:(?:more|further|additional|an) )?(?:information|explanation|details)\b[^.;!?]{0,80}/g,
  /\b(?:recipient|address|user)(?: address)? (?:was |is )?(?:rejected|refused|not accepted)(?=$|[.,;:)!])/g,
  /\b(?:mail|message|delivery|recipient|address|transaction) (?:was |is |has been )?(?:refused|rejected|failed) ?(?:--?|:)(?= ?\S)/g,
  /\b(?:rejected|refused) by (?:(?:a|the) )?(?:remote |destination |recipient'?s? |next )?(?:mail |smtp )?(?:server|host|system|exchanger)\b|\bwhile talking to \S{1,255}/g,
  /\b(?:inactiv\w{1,6}|unused|not (?:been )?(?:used|accessed)) (?:for|in|over|since) [^.;!?]{0,30}(?:\btime\b|\blong\b|\bdays\b|\bmonths\b|\byears?\b)/g,
  /(?<![:\da-f])\d\d:\d\d:\d\d(?![:\da-f])/g,
  /\bmail ?box name (?:is )?not allowed\b|\b(?:invalid|bad) (?:e-?mail |recipient ){0,2}address format\b/g,
  /\breturn(?:ed|ing)? to (?:the )?sender\b|\b(?:error|trouble|problem|while|when) sending (?:(?:your|the|this) )?(?:e-?mail|mail|message)\b/g,
  /\berror (?:has )?occurred while (?:trying to |attempting to )?(?:deliver|send)(?:ing)?\b/g,
  /\bdns error:? (?:\d{1,20} )?dns server returned answer with no data\b/g,
  /\bdns (?:look ?up )?(?:error|failure|failed):? (?=domain|host|no such|non-?exist|nxdomain)/g,
  /\b(?:error|response|reply|answer|status) (?:received )?from (?:the )?(?:remote |destination |recipient'?s? |other )?(?:mail )?(?:server|host|system)\b/g,
  /\byou do not have authorization to see it\b|\bor not yet active\b|\brelay recipient table\b/g,
  /\bcan'?t accept (?:user|recipient|address)\b|\bremoved from (?:our|the|this) (?:system|server|data ?base|directory|domain|company|organi[sz]ation)\b/g,
  /\b(?:not|n'?t|no longer) accept(?:s|ing|ed)? (?:any )?(?:e-?mails?|messages?|mail) (?:for|to|at) (?:this|that|the|such) (?:e-?mail )?(?:address|user|recipient|mail ?box|account)\b/g,
  /\bthank(?:s| you)\b|\bsuppressed sending to this address\b|\bupdate your [^.;!?]{0,40}/g,
  /\b(?:remove|delete) (?:(?:it|them|this|that|the) )?(?:e-?mail )?(?:(?:address|recipient|user) )?from (?:your|the|all) [^.;!?]{0,40}/g,
  /\b(?:user|account|mail ?box|address|recipient) (?:(?:is|was|has been) )?(?:suspended|locked|frozen|expired)(?: or (?:suspended|locked|disabled))?\b(?! (?:at|because|by|due|during|for|from|in|on|or|over|this|to|until|while)\b)/g,
  /\b(?:(?:is |are )?(?:not|no longer) accepting|(?:user|recipient|account|mail ?box|address) (?:does not|doesn'?t|can ?not|can'?t) accept) (?:any |new )?(?:e-?mails?|messages?|mail)\b(?! (?:at|because|by|due|during|for|from|in|larger|of|on|outside|over|than|that|this|to|unless|until|with|without)\b)/g,
  /\b(?:(?:mon|tue|wed|thu|fri|sat|sun), )?\d{1,2} [a-z]{3} \d{4} \d\d:\d\d(?::\d\d)?(?: [+-]\d{4})?/g,
  /\b\d{4}-\d\d-\d\dt?\s?\d\d:\d\d(?::\d\d)?(?:\.\d{1,6})?z?/g,
]

/** An IP address beside a code is no cause by itself: servers write whom they talk to. */
export const IP_ADDRESS = /\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}|(?:[\da-f]{0,4}:){2,7}[\da-f]{1,4}/g

/** What speaks against it, wherever in the reply it stands: in another sentence it makes it doubtful, too. */
export const AGAINST: Readonly<
  Record<
    'sender' | 'ip' | 'content' | 'policy' | 'size' | 'time' | 'system' | 'inOtherLanguages',
    RegExp
  >
> = {
  sender:
    /\bsenders?\b|\bsending\b|\bfrom\b|\byour? (?!(?:e-?)?(?:mails?|messages?)\b(?! (?:address|server|domain|host|account))|tried\b|are trying\b|entered\b|typed\b|specified\b|sent\b|(?:envelope |intended )?(?:recipients?|addressee)\b|address book\b|delivery\b|request\b|letter\b|original message\b)|\byou\b(?=$|[.,;:!)])|\breturn\b|\breply(?:[- ](?:to|path)\b| )|\bbounces?\b|\bcall(?:outs?|backs?|ed|ing)\b|\bverif|\bhelo\b|\behlo\b|\borigin(?!al (?:recipient|message|address)\b)|\bsource\b|<>/,
  ip: /\bips?\b|\bipv[46]\b|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}|[\da-f]{1,4}:[\da-f]{0,4}:|\bclient\b|\bptr\b|\brdns\b|\breverse\b|\bconnect|\bnetwork\b|\bhosts? \[|\bdyn:/,
  content:
    /spam|\bjunk\b|\bbulk\b|virus|malware|trojan|infect|phish|attach|\bcontent|\bheaders?\b|\bsubject\b|\blinks?\b|\burls?\b|\bhtml\b|\bmime\b|\bformat|\bfields?\b|\bbody\b|\bmessages? (?:was |is |has been )?(?:rejected|refused|blocked|filtered|denied)|\bfiltered\b|unsolicited|unwanted|\badvert|\bforge/,
  policy:
    /polic(?:y|ies)|\bblock|\bbann|\bbarr|\bden(?:y|ied)\b|\bblack ?list|\blisted\b|\bdeny ?list|reputation|\bspf\b|\bdkim\b|\bdmarc\b|\brelay|\bauth(?!oritative)|\baccess\b|\bpermi|\ballow|\bprohibit|\bforbid|\brestrict|\brefus|\bprefer|\baccept|\brules?\b|\babuse|\bsecurity\b|\bunsubscri|\bopted\b|\bnot wanted|\bprivilege|\bsuspen|\brejected by\b|\bcompl|\btls\b|\bencrypt|\blog ?in\b|\bpasswords?\b|\bmembers?\b|\bonly\b|\bunless\b|\bwithout\b|\bambiguous\b|\bpa(?:id|y|yments?)\b|\bloop|\bhops?\b/,
  size: /\bsize|\blarge|\bbig(?:ger)?\b|quota|\bfull\b|\bspace\b|\bstorage\b|\bdisk\b|\bexceed|\blimit|\bcapacity\b|\btoo (?:many|much|long|fast|quickly|old)\b|\b\d{1,9} ?(?:[kmg]i?b|bytes)\b|\brates?\b|\bover ?loaded\b|\bmore mail\b|\busage\b|\bbandwidth\b/,
  time: /\btemporar|\bagain\b|\blater\b|\bretr(?:y|ied|ies)|\bmoment\b|\bcurrently\b|\bbusy\b|\bseconds?\b|\bminutes?\b|\bhours?\b|\bdays?\b|\bweek|\btomorrow\b|\bmonday\b|\bholiday|\bvacation\b|\btime|\buntil\b|\bwhile\b|\bdelay|\bdefer|\bsoon\b|\byet\b|\bwait|\bmaintenance\b|\bmigrat|\bbackup\b|\bnow\b|\btoday\b|\bqueue|\bin progress\b/,
  system:
    /\bdown\b|\boffline\b|\bun(?:reachable|verified)\b|\bnot (?:be )?reach|\bfail-?over\b|\bdid(?: not|n'?t) (?:answer|respond)|\bat this point\b|\bgone away\b|\bcrash|\binternal (?:\w{1,20} ){0,2}(?:errors?|fail|problem)|\bservfail\b|\b(?:look ?up|search|query|check|validation|resolution|dns|directory|data ?base|backend|server|system|configuration|ldap|sql|db)\b[^.;!?]{0,30}\b(?:fail|errors?\b|problem|trouble|unavailable|not available)/,
  inOtherLanguages:
    /\bexp.diteur|\b.metteur|absender|\bremitente|\bremetente|\bemisor|\bmittente|\bafzender|\bvo(?:tre|s) |\bihre?[rmns]? |\bsus? (?:correo|direcci|dominio|servidor|ip)|\b(?:tu[oa]|su[oa]|seu|sua) (?:dominio|server|indirizzo|servidor|endere|ip)|bloqu|blo[ck]?kier|blocc|geblokkeerd|sperr|abgelehnt|abgewiesen|zur.ckgewiesen|\brejet|rechaz|rejeit|rifiut|geweigerd|\bautori|\bnicht (?:erlaubt|berechtigt|erreichbar)|interdit|verboten|\bproib|vietat|\bfiltr|liste noire|lista n[eo]|politique|pol.tica|richtlini|\bplein|\bvoll(?:es|en|er)?\b|.berf.llt|.berschritten|\bllen[oa]|\bpien[oa]\b|\bchei[oa]|\bvol\b|speicher|\bespace\b|\bespacio|\bspazio|\bespa.o|\bcuota|\bcota\b|\btaille|\bgr..e\b|\bzu gro|tama.o|tamanho|\bd.pass|\bexc[eé]d|super(?:ad|at)|\bl.mite|\bzu viele|\btrop\b|\bdemasiad|\btropp|\bte veel|tempor.r|tempora[ln]|\bplus tard|r.essay|\bsp.ter|sp(?:.|ae)ter\b|\berneut|\bversuch|\bintent|reintent|\bm.s tarde|\bpi. tardi|riprov|\bmais tarde|\btente\b|\bopnieuw|\bderzeit|\bzurzeit|\bmomentan|actual?mente|attualmente|actuellement|\bstunden?\b|\bheures?\b|\bhoras?\b|\bminut|courrier ind|ind.sirable|unerw.nscht|\banh.ng|pi.ce jointe|\badjunto|\ballegat|conten(?:u|ido|uto|.do)\b|\binhalt|indisponi|no disponible|non disponibile|ausgefallen|\bpanne\b|hors service|\bgest.rt|fuera de servicio/,
}

/** That another attempt may do better, whatever else is said. */
export const WILL_PASS =
  /\btempora(?:r|l|n|ir)|\btempor.r|\blater\b|\bat (?:this|the) (?:time|moment)\b|\bnot found,? try again\b|\bwill (?:be )?(?:retr|keep|continue)|\bplus tard|\bsp(?:.|ae)ter\b|\bm.s tarde\b|\bpi. tardi\b|\bmais tarde\b|\br.essay|\briprov|\bopnieuw\b|\bvorübergehend|\bvoruebergehend/
