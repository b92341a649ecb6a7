/**
 * What a refusal has to say before an address is suppressed: codes and words about the address itself, and
 * what speaks against them (contract §7.4). Data, with where each comes from.
 *
 * The words are read in reply-text.ts's form: lower case, without codes, addresses and URLs. They are few
 * and exact, for a wrong suppression loses a person's mail and nobody notices. reply-table.ts, which finds a
 * sentence for `failed_reason`, may guess; nothing here does. Every pattern is linear in its input.
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
const WHO = String.raw`(?:user|recipient|mail ?box|account|(?:e-?mail |recipient )?address|addressee|customer|alias|e-?mail(?: id)?|user ?id|local[- ]?part)(?: ?name)?(?:\(s\)|s)?`
const MEANT =
  '(?: (?:that )?you (?:tried to reach|entered|typed|sent (?:to|(?:your|the) message to)))?'
const MISSING =
  "(?:unknown|not ?found|(?:was|were)n'?t found|not known|non-?exist[ae]nt|invalid|not valid|(?:does not|do not|doesn'?t|don'?t|not|no longer) exists?|not recogni[sz]ed|not registered|(?:cannot|can'?t|could not|couldn'?t) be found|no longer (?:valid|available|active|in use|used|employed|accept(?:s|ing) (?:e-?)?mail|(?:on|with|at) (?:(?:this|our|the) )?(?:server|system|company|domain)))"
const DISABLED =
  '(?:disabled|deactivated|inactivated|inactive|closed|terminated|discontinued|deleted|removed|archived|expired|locked|frozen|suspended|not active|not (?:been )?activated)'
const words = (pattern: string): RegExp => new RegExp(pattern)

export interface AddressWords {
  readonly is: FailureCategory
  readonly words: RegExp
  /** Only after a reply code: without one they are too vague. */
  readonly needsReply?: true
}

/** Words that name the recipient as unknown or disabled, or its domain as one that does not exist. */
export const ADDRESS_WORDS: readonly AddressWords[] = [
  {
    is: 'invalid_recipient',
    words: words(
      String.raw`\b(?:no such|unknown|non-?exist[ae]nt|invalid) (?:(?:or illegal|local|virtual|e-?mail|recipient|destination|final delivery) ){0,2}${WHO}\b|\bbad (?:destination |recipient )(?:mail ?box|address)?\b`,
    ),
  },
  {
    is: 'invalid_recipient',
    words: words(
      String.raw`\b${WHO}${NAME}${MEANT},?:?(?: is| was| are)? ${MISSING}\b|\b(?:cannot|can'?t|could not|couldn'?t|unable to) (?:find|locate) (?:(?:the|this|that|a|any|such) ){0,2}${WHO}\b`,
    ),
  },
  {
    is: 'mailbox_disabled',
    words: words(
      String.raw`\b${WHO}${NAME}${MEANT}(?: is| was| has been)? ${DISABLED}\b|\b(?:disabled|deactivated|inactive|archived) (?:e-?mail )?${WHO}\b|\ba (?:disabled|deactivated|closed) ${WHO}\b`,
    ),
  },
  {
    is: 'invalid_recipient',
    words: words(
      String.raw`\bno such person\b|\bno (?:mail ?box|user|account|recipient) (?:here |available )?(?:by|with|of|under|for) (?:that|this) (?:name|address|user)\b|\bnot our (?:customer|user)\b|\b(?:not|isn'?t) an? (?:valid|known|local|registered|active) (?:e-?mail )?(?:user|recipient|mail ?box|account|address)\b|\b(?:does not|doesn'?t) have an? (?:\S{1,64} )?account\b|\bno user record found\b|\bno (?:user|recipient|mail ?box) found\b|\bnot listed in (?:(?:the|public|domino) ){0,2}(?:name (?:& |and )?)?(?:address )?(?:book|directory)\b|\bunroute?able address\b|\brecip(?:ient)?notfound\b|\bthere is no (?:user|account|mail ?box|one) (?:here )?(?:by|with|of) (?:that|this) (?:name|address)\b`,
    ),
  },
  {
    is: 'invalid_recipient',
    words:
      /\b(?:utilisateur|destinataire|adresse)(?: est)? (?:inconnue?|introuvable|inexistante?)\b|\b(?:benutzer|empf.nger|adresse|postfach)(?: ist)? (?:unbekannt|existiert nicht|nicht gefunden)\b|\b(?:usuario|destinatario|buz.n|direcci.n|cuenta)(?: es)? (?:desconocid[oa]|no existe|inexistente|no encontrad[oa])\b|\bno existe (?:(?:la|el|dich[oa]|es[et][ea]?) ){0,2}(?:persona|usuario|cuenta|buz.n|direcci.n|destinatario)\b|\b(?:utente|destinatario|casella|indirizzo)(?: .)? (?:sconosciut[oa]|inesistente)\b|\bgebruiker (?:is )?onbekend\b/,
  },
  {
    is: 'invalid_recipient_domain',
    words:
      /\b(?:(?:host or |dns )?domain(?: name)?(?: ?["'(<[]?(?:[a-z\d-]{1,63}\.){1,8}[a-z\d-]{1,63}["')>\]]?)?|host(?: or domain)?(?: name)?) (?:(?:does not|doesn'?t) exist|not found|unknown|(?:cannot|can'?t|could not|couldn'?t) be found)\b|\b(?:no such|non-?exist[ae]nt|unroute?able) (?:mail )?domain\b|\bunknown (?:host|domain)\b|\bnxdomain\b|\bnull ?mx\b|\bindicated no smtp service\b|\b(?:domain|host) does(?: not|n'?t) accept (?:any )?(?:e-?)?mail\b(?! from)|\bbad destination (?:system|host)\b/,
  },
  // RFC 5321 §4.2.3 has these for 550, "mailbox not found, no access, or … policy": the first as a rule.
  {
    is: 'invalid_recipient',
    words: /\b(?:mail ?box|recipient|user|account|address)(?: is)? (?:unavailable|not available)\b/,
    needsReply: true,
  },
]

/**
 * What makes a sentence be about something else, or makes it doubtful. `anywhere` counts in every sentence of
 * a reply, `inSentence` only beside the words above.
 */
export const AGAINST: Readonly<
  Record<'sender' | 'ip' | 'content' | 'policy' | 'size' | 'time', RegExp>
> = {
  sender:
    /\bsenders?\b|\bsending\b|\bfrom\b|\byour? (?!(?:e-?)?(?:mails?|messages?)\b(?! (?:address|server|domain|host|account))|tried\b|are trying\b|sent\b|envelope recipient\b)|\byou\b$|\breturn[- ]path\b|\bhelo\b|\behlo\b|\borigin|\bexp.diteur|\babsender|\bremitente/,
  ip: /\bips?\b|\bipv[46]\b|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}|[\da-f]{1,4}:[\da-f]{0,4}:|\bclient\b|\bptr\b|\brdns\b|\breverse\b|\bconnect|\bnetwork\b|\bhosts? \[/,
  content:
    /spam|\bjunk\b|\bbulk\b|virus|malware|trojan|infect|phish|attach|\bcontent|\bheaders?\b|\bsubject\b|\blinks?\b|\burls?\b|\bhtml\b|\bmime\b|\bformat|\bbody\b|\bmessages? (?:was |is |has been )?(?:rejected|refused|blocked|filtered|denied)|\bfiltered\b|unsolicited/,
  policy:
    /polic(?:y|ies)|\bblock|\bbann|\bbarr|\bden(?:y|ied)\b|\bblacklist|\blisted\b|\bdeny ?list|reputation|\bspf\b|\bdkim\b|\bdmarc\b|\brelay|\bauth|\baccess\b|\bpermi|\ballow|\bprohibit|\bforbid|\brestrict|\brefus|\bprefer|\baccept|\brules?\b|\babuse|\bsecurity\b|\bunsubscri|\bnot wanted|\bprivilege|\bsuspen|\brejected by\b|\bcompl/,
  size: /\bsize|\blarge|\bbig(?:ger)?\b|quota|\bfull\b|\bspace\b|\bstorage\b|\bdisk\b|\bexceed|\blimit|\bcapacity\b|\btoo (?:many|much|long)\b|\b\d{1,9} ?(?:[kmg]i?b|bytes)\b|\brates?\b|\bover ?loaded\b/,
  time: /\btemporar|\bagain\b|\blater\b|\bretr(?:y|ied|ies)|\bmoment\b|\bcurrently\b|\bbusy\b|\bseconds?\b|\bminutes?\b|\bhours?\b|\bdays?\b|\btime|\buntil\b|\bdelay|\bdefer|\bsoon\b|\byet\b|\bwait|\bmaintenance\b|\bnow\b|\btoday\b/,
}

/** Of time, what is not advice about an address that is to be written again. */
export const WILL_PASS =
  /\btemporar|\blater\b|\bat (?:this|the) (?:time|moment)\b|\bnot found,? try again\b|\bwill (?:be )?(?:retr|keep|continue)/

/** Wherever in a reply it stands. */
export const ANYWHERE =
  /\bip address|\bblocked\b|\bblack ?list|\bblock ?list|spam|polic(?:y|ies)|reputation|\bquota|\bvirus|\bspf\b|\bdkim\b|\bdmarc\b/
