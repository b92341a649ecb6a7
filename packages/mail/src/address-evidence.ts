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
    says: 'the mailbox has moved, and the new address is not given',
    source: 'RFC 3463 §3.2',
  },
  {
    code: '5.1.10',
    is: 'invalid_recipient_domain',
    says: 'the domain accepts no mail; at Exchange Online: the mailbox does not exist',
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
const NAME = String.raw`(?: ?["'(<[] ?[^\s"'()<>[\]]{0,64} ?["')>\]]| [a-z]{1,32}[._\d][\w.+-]{0,64})?`
const KIND =
  '(?:(?:or illegal|or unknown|local|virtual|e-?mail|mail|recipient|destination|target|(?:final )?delivery|smtp|domain|pop3?|imap|internal|webmail|original|intended) ){0,3}'
const WHO = String.raw`(?:user|(?:(?:e-?)?mail|user|recipient)(?:addr(?:ess)?|account|name)|recipient|recip|rcpt|mail ?box|mail ?drop|account|address|addressee|customer|subscriber|alias|e-?mail (?:id|name|user|account)|mail account|user account|user ?id|local[- ]?part|person|mbox|in-?box|employee|student|(?:mailing|distribution) (?:list|group))(?:(?: ?id)? ?name)?(?:\(s\)|e?s)?`
/** Nothing that makes it mail of some kind: `larger than`, `without TLS`. */
const OF_ANY_KIND =
  '(?! (?:at|because|by|due|during|for|from|in|larger|of|on|or|outside|over|than|that|this|through|to|under|unless|until|using|via|when|while|with|without|written|yet)\\b)'
/** `invalid recipient count` and `unknown user type` are about something else. */
const ALONE = String.raw`\b(?!(?:'s)?[ -](?:of|access|agents?|attributes?|balance|certificates?|clients?|class|commands?|counts?|credentials?|data(?:base)?|errors?|family|fields?|files?|filters?|formats?|groups?|in (?:the )?(?:headers?|from)|info(?:rmation)?|input|keys?|levels?|lists?|literals?|locks?|loops?|managers?|maps?|modes?|options?|owner|parameters?|password|permissions?|plans?|polic(?:y|ies)|privileges?|profile|quota|ranges?|requests?|rights?|rules?|servers?|sessions?|settings?|stat(?:e|us)|stores?|syntax|tokens?|types?|values?)\b(?!:))`
const REAL =
  '(?:existing|valid|known|local|registered|active|recogni[sz]ed|current|legitimate|real|working|correct|defined|deliverable)'
const MEANT =
  "(?: (?:that |which |whom? |to (?:which|whom) )?you(?:'re|'ve)? (?:(?:have |had )?(?:tried|attempted) to (?:reach|contact)|(?:are )?(?:trying|attempting) to (?:reach|contact)|want(?:ed)? to (?:reach|contact)|entered|typed|specified|gave|sent (?:to|(?:your|the) message to)|wrote to|are (?:writing|sending|mailing) to|are trying to (?:e-?mail|mail|message|write to)))?"
const BE =
  '(?: (?:that|which|who))?(?: (?:is|was|are|were|has been|have been|seems to be))?(?: (?:now|currently|already|either|also|an?))?'
const HERE =
  '(?:here|on file|in (?:(?:this|our|the|any) )?(?:system|domain|directory|database|server|organi[sz]ation|table|list|ldap)|(?:at|on|with) (?:this|our|the) (?:site|host|server|system|domain|location|machine))'
const MISSING = `(?:unknown|not ?found|(?:was|were)n'?t found|not (?:be )?known|isn'?t known|non[- ]?exist(?:[ae]nt|ing)|inexist[ae]nt|not existing|invalid|in?valid|not valid|wrong|incorrect|undefined|not defined|un-?recogni[sz]ed|not (?:be )?recogni[sz]ed|(?:does not|do not|does ?n'?t|does'nt|dose?n'?t|doesnot|don'?t|did not|didn'?t|not|no longer)(?: (?:actually|appear to|seem to))? exists?|not registered(?! (?:for (?:this|the|our) (?:list|service)|to\\b|as\\b))|not listed|not present|not (?:located|set ?up|created|configured(?! (?:to|for)\\b))|mis-?(?:spelled|spelt|typed)|obsolete|defunct|vacant|not (?:in (?:use|service)|one of ours|ours)|not (?:assigned|allocated|provisioned|enrolled)(?! (?:for|to)\\b)|un(?:assigned|allocated|provisioned)|(?:(?:was|were|has|have|had) )?never (?:(?:been )?(?:created|provisioned|assigned|allocated|registered)(?! (?:for|to)\\b)|exist(?:ed|s))|(?:do(?:es)?|did) no exists?|ceased to exist|(?:does not|doesn'?t|did not|didn'?t) match any|matches no|belongs to no(?: ?one|body)|(?:does not|doesn'?t) belong to an(?:y|yone|ybody)\\b|not (?:associated with|assigned to) any|not ${HERE}|(?:cannot|can ?not|can'?t|could not|couldn'?t) be (?:found|located|recogni[sz]ed|identified|matched)|no longer (?:valid|in service|registered|assigned|allocated|enrolled|provisioned|known|present|an? (?:student|employee|customer|user|subscriber)|available|active|exists|in use|used|employed|part of|maintained|${HERE}|with \\S{1,40}|working (?:at|for|with|here)|(?:on|with|at) (?:(?:this|our|the) )?(?:server|system|company|domain|organi[sz]ation))|no longer accept(?:s|ing) (?:e-?)?mails?\\b${OF_ANY_KIND}|(?:has )?left (?:the|our|this) (?:company|organi[sz]ation|firm|school|university|college|institution|department|building))`
const DISABLED =
  '(?:(?:administratively|permanently) )?(?:disabled|deactivated|de-activated|abandoned|inactivated|inactive|terminated|discontinued|dormant|decommissioned|deprovisioned|retired|abolished|purged|erased|revoked|(?:switched|turned) off|shut down|not active|(?:not|never) (?:been )?activated)'
/** Only of what was done to the mailbox: `user deleted your message`. */
const ENDED = '(?:deleted|removed|archived|closed|cancell?ed|expired|frozen|withdrawn)'
/** Several of them, of which there is none: `no mailbox, alias or list`. */
const NONE_OF = `no (?:such )?(?:(?:local|matching|active|registered|corresponding) ){0,2}${KIND}(?:mail ?box|in-?box|mbox|user|account|recipient|address|addressee|alias|subscriber|customer|employee|student|person)(?:e?s)?(?:(?:,|,? or|,? and) (?:(?:distribution |mailing )?(?:list|group)|contact|alias|user|account|mail ?box|recipient)(?:e?s)?){0,3}`
/** The sender's own address, account or domain. */
const NOT_YOURS =
  '(?<!\\b(?:votre|ihre?|sus?|tus?|tu[oa]|su[oa]|seu|teu|vostr[oa]|uw|jouw|deine?) )'
const GERMAN =
  '(?:address|benutzer(?:konto|name)?|nutzer|teilnehmer|empf(?:.|ae)nger(?:in|adresse|postfach)?|(?:e-?)?mail-?(?:adresse|konto)|adresse|adressat|postfach|mailbox|konto|alias|mitarbeiter(?:in)?)'
const GERMAN_PLACE =
  '(?: (?:hier|bei uns|im (?:e-?)?mail-?system(?: (?:des|der) empf.nger(?:s|in)?)?|(?:auf|in|an|unter|bei) (?:diese[mr]|unsere[mr]|dem|der) (?:system|server|domain|dom.ne|host|rechner|organisation|verzeichnis)|(?:in|auf|unter) (?:[a-z\\d-]{1,63}\\.){1,8}[a-z\\d-]{1,63}))?'
const RUSSIAN =
  '(?:address|пользовател[ья]|получател[ья]|адресата?|(?:почтов(?:ый|ого) )?ящика?|(?:почтов(?:ый|ого) )?адреса?|уч[её]тн(?:ая|ой) запис[ьи]|аккаунта?|абонента?)'
const words = (pattern: string, flags = ''): RegExp => new RegExp(pattern, flags)

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
      String.raw`\b(?:no such|unknown|undefined|un-?recogni[sz]ed|non[- ]?exist(?:[ae]nt|ing)|inexist[ae]nt|invalid|wrong|incorrect|illegal|unregistered|obsolete|defunct|mis-?(?:spelled|spelt|typed)|(?:not|isn'?t|wasn'?t) an? (?:${REAL} ){0,1}${REAL}):?[ -](?:or unknown )?${KIND}${WHO}${ALONE}|(?<=^ ?|[.;!] )(?:not (?:found|known|exist(?:s|ing|[ae]nt)?|valid|registered)|does not exist):? ?(?:the |this |that )?${KIND}${WHO}(?=$|[\s.,:;)!>](?!\b(?:of|for|in|on|at|from|agents?|types?|formats?|fields?)\b))|\bbad (?:destination |recipient )(?:mail ?box|address)?\b|\bbad (?:destination|recipient|target|local|e-?mail|mail) ${KIND}${WHO}${ALONE}|\bbad[- ]recipient\b|\bunknown e-?mail(?=$|[.,;:)!])|\bbad (?:user(?:name)?|mail ?box)${ALONE}|\bno such e-?mail\b(?! (?:from|server|domain|host))|\bno[-_]?such[-_]?(?:user|mail ?box|recipient)\b|\be-?mail (?:is )?(?:unknown|not (?:found|known|registered)|non-?existent)\b`,
    ),
  },
  {
    is: 'invalid_recipient',
    words: words(
      String.raw`(?:\b${WHO}${NAME}|<[^<>\s.]{1,64}>)${MEANT}[,:.]{0,3}${BE} ${MISSING}\b|\b(?:cannot|can ?not|can'?t|could not|couldn'?t|unable to|did not|didn'?t|not able to) (?:find|locate|recogni[sz]e|identify) (?:(?:the|this|that|a|an|any|such|your) ){0,2}${KIND}${WHO}${ALONE}|\b(?:mail ?box|in-?box|address|alias|account)(?: address)? (?:does not|doesn'?t) (?:receive|take|get) (?:any )?(?:e-?)?mails?(?: any ?(?:more|longer))?\b${OF_ANY_KIND}`,
    ),
  },
  {
    is: 'mailbox_disabled',
    words: words(
      String.raw`(?:\b${WHO}${NAME}|<[^<>\s.]{1,64}>)(?: (?:or|and) (?:domain|${WHO}))?${MEANT}[,:.]{0,3}${BE} ${DISABLED}\b|\b${WHO}${NAME}${MEANT} (?:is|was|has been|have been|were)(?: (?:now|already|permanently))? ${ENDED}(?=$|[\s.,;:)!])(?! your)|\b${WHO}(?: (?:is|was|has been))? (?:blocked|closed|suspended|disabled|locked|expired|removed|deleted) (?:due to|because of|for) (?:(?:long|prolonged|extended)(?:[- ]?(?:time|term|lasting))? )?(?:inactivity|non-?use|lack of use)\b|\bmail (?:receiving|reception|receipt) (?:is |was |has been )?disabled\b|\bno (?:recipient|user|account|mail ?box) activity since\b|\b(?:disabled|deactivated|inactive|archived|terminated) ${KIND}${WHO}${ALONE}|\ba (?:disabled|deactivated|closed|deleted) ${KIND}${WHO}${ALONE}|\b(?:unknown|invalid|inactive|disabled) or (?:disabled|deactivated|inactive|closed|deleted|removed) ${KIND}${WHO}${ALONE}|(?<=^|[.,;:!)>-] ?|\baddress )(?:mail ?box|account|alias) (?:deleted|removed)(?: by (?:the |an? |its )?(?:system )?(?:administrator|admin|owner))?(?=$|[.,;:)!])`,
    ),
  },
  {
    is: 'invalid_recipient',
    words: words(
      String.raw`\bno (?:such )?person\b|\bno (?:matching|local) ${WHO}${ALONE}(?: found)?|\bno (?:user|person|recipient) of that name\b|\bno record of (?:(?:this|that|such|a|an) ){1,2}${WHO}\b|\bno mail ?box by that name is (?:currently )?available\b|\bmissing home directory\b|\b(?:has|have) no (?:such )?${KIND}(?:user|mail ?box|recipient|person|alias)${ALONE}|\b(?:recipient|user|alias|mail ?box)(?: address)? (?:cannot|can ?not|can'?t|could not|couldn'?t) be resolved\b|\b(?:cannot|can ?not|can'?t|could not|couldn'?t|unable to) resolve (?:the |this |that )?(?:recipient|user|alias)(?: address)?(?=$|[.,;:)!])|\b(?:user|mail ?box|recipient|person|account|address) (?:has |is |was )?moved[,;]? (?:and |with )?(?:left )?no forwarding\b(?: address| order)?(?: given| left| known)?|\baddress look ?up in \S{1,40} (?:map|table) failed\b|\buser not a member of domain\b|\be-?mail (?:does not|doesn'?t|not) exists?\b|\bno(?: ?one|body) (?:here )?(?:(?:by|with|of|under|called|named|at) (?:that|this|the)|here)\b(?: e-?mail)?(?: (?:name|address))?|\b(?:no|without an?) (?:${KIND}(?:mail ?box|user|account|recipient|address|subscriber|customer)(?:es|s)?) (?:here|available|found|exists?|matche[sd]|matching|known|registered|defined|by|with|of|under|for|at|on) ?(?:by|with|of|under|for|at|on)? ?(?:that|this|the|user)? ?(?:name|address|user|domain|host|server|system)?\b|\bnot our (?:customer|user)\b|\b(?:does not|doesn'?t|has not|hasn'?t) (?:have|got) (?:an?|any|the) (?:(?!auth|open|paid|free|enough)\S{1,64} )?(?:(?:e-?mail|mail|final|valid|active|local|user) ){0,2}(?:(?:e-?mail)?account|mail ?box|in-?box|delivery point|service mapped)\b|\bno user record found\b|\bnot listed in (?:(?:the|public|domino) ){0,2}(?:name (?:& |and )?)?(?:address )?(?:book|directory)\b|\bunroute?able address\b|\brecip(?:ient)?notfound\b|\bno longer (?:works?|working|lives?|is|employed) (?:here|at|for|with)\b|\b(?:person|user|employee|recipient|addressee) (?:does not|doesn'?t) (?:work|live) (?:here|for us)\b|\bformer (?:employee|user|customer|student|subscriber|account)\b|\b(?:this|that|the|such) list does not exist\b|(?:^|[.,;:] ?)(?:not found|unknown|does not exist|no longer exists): address\b|\bno longer an? (?:(?:valid|existing|active|known) )?${KIND}${WHO}${ALONE}|\bnot (?:one|any) of our (?:own )?(?:addresses|users|recipients|customers|mail ?boxes|accounts)\b|\bno (?:redirect|forward|forwarding|alias|mapping|routing) (?:(?:entry|record|rule) )?(?:exists |found |defined )?for (?:this|that|the) (?:address|user|recipient|alias)\b|\bno longer (?:has|have) an? (?:(?:active|valid) )?(?:account|mail ?box)\b`,
    ),
  },
  {
    is: 'invalid_recipient',
    words: words(
      String.raw`\b${NONE_OF}(?: (?:is|was|are|were|could be|can be))? (?:here|there|called|named|known|found|exists?|registered|defined|matche[sd]|matching|associated(?! with (?:the )?(?:host|name))|assigned|(?:by|with|of|under|for|at|on|in) (?:that|this|the|such|your|our)|(?:with|under|for|at) address|at (?:[a-z\d-]{1,63}\.){1,8}[a-z\d-]{1,63})\b|\bno(?: ?one|body)(?: (?:here|is))? (?:called|named|known as)\b|\bno such (?:local )?log ?in\b|\bno match(?:es)?(?: was| were)?(?: found)? for (?:the|this|that|your) ${KIND}${WHO}${ALONE}|\b(?:does not|doesn'?t|do not|don'?t) (?:know (?:about |of )?address\b|(?:know|exists?) (?:(?:about|of|the|this|that|such|any|an?) ){1,2}${KIND}${WHO}${ALONE})|\b(?:does not|doesn'?t|do not|don'?t) have such an? ${KIND}${WHO}${ALONE}|\b(?:do not|don'?t|does not|doesn'?t) have an? ${KIND}(?:user|recipient|person|employee|student|customer) (?:here|called|named|by that|by this|with (?:that|this|the)|of that)\b|\b${WHO} has no (?:(?:such|local|active|valid) )?(?:mail ?box|account)\b(?! (?:balance|credit|right|type))|\b(?:does not|doesn'?t) match any (?:(?:known|existing|valid|local) )?${KIND}${WHO}${ALONE}|\bnot (?:an? )?(?:registered |valid |known |local )?(?:${KIND}|gateway |network |webmail )(?:user|customer|subscriber|account|mail ?box|recipient)s? (?:of|on|at|in) (?:this|our|the) (?:server|system|site|host|domain|machine|organi[sz]ation)\b|\bnot an? (?:registered|known|existing) (?:gateway|network|webmail|system) user\b`,
    ),
  },
  {
    is: 'invalid_recipient',
    words: words(
      String.raw`${NOT_YOURS}\b(?:address|utilisat(?:eur|rice)|destinataire|adresse|compte|bo.te(?: (?:aux lettres|de r.ception|e?-?mail))?|messagerie|abonn.e?|alias)(?: (?:address|e-?mail|mail|.lectronique|de messagerie|du destinataire|de destination|demand.e?|indiqu.e?)){0,2}(?: (?:est|semble|a .t.))?(?: d.finitivement)? (?:inconnue?|introuvable|inexistante?|invalide|incorrecte?|n'existe (?:pas|plus)|n'est (?:pas|plus) (?:valide|acti[fv]e?|connue?|enregistr.e?|attribu.e?|utilis.e?|en service)|n'a pas .t. trouv.e?|d.sactiv.e?|supprim.e?|r.sili.e?|cl.tur.e?|d.finitivement ferm.e?|ferm.e? d.finitivement)(?![\p{L}])|\baucune? (?:utilisateur|destinataire|compte|bo.te|adresse) (?:de|avec|.|correspondante?) (?:(?:ce|cette) (?:nom|adresse))?|\b(?:impossible de|n'avons pas pu|n'a pas pu|ne peut) (?:trouver|localiser) (?:(?:l'|le |la |cette |cet |ce )(?:utilisateur|destinataire|adresse|compte|bo.te))|\bpersonne (?:ici )?(?:.|avec|de|sous) (?:ce|cette) (?:nom|adresse)\b|\bn'existe (?:pas|plus)\b|\bau moins un destinataire invalide\b`,
      'u',
    ),
  },
  {
    is: 'invalid_recipient',
    words: words(
      String.raw`${NOT_YOURS}\b${GERMAN}(?: address)?(?: (?:des|der) empf.nger(?:s|in)?)?(?: (?:mit|unter) (?:diesem|dem|dieser|der) (?:namen?|adresse|kennung))?(?: (?:ist|sind|wurde|konnte))?${GERMAN_PLACE}(?: (?:dauerhaft|endg.ltig|inzwischen|bereits|leider|uns))? (?:unbekannt|nicht${GERMAN_PLACE} (?:mehr )?(?:gefunden|bekannt|vorhanden|existent|g(?:.|ue)ltig|vergeben|registriert|eingerichtet|angelegt|aktiv)|ung(?:.|ue)ltig|deaktiviert|abgeschaltet|stillgelegt|aufgel(?:.|oe)st|entfernt|gel(?:.|oe)scht|(?:dauerhaft|endg.ltig) geschlossen)\b|${NOT_YOURS}\b${GERMAN}(?: address)? (?:existiert|gibt es)${GERMAN_PLACE} nicht(?: mehr)?\b|\b(?:unbekannte|ung(?:.|ue)ltige)[rsn]? ${GERMAN}(?:name)?\b|\b(?:keine?n?|niemand(?:en)?)(?: solche[rsn]?)?(?: ${GERMAN})? (?:gefunden|vorhanden|registriert|namens|mit (?:diesem|dem) namen|unter (?:dieser|der) adresse)\b|\b(?:konnten?|k.nnen?) (?:wir )?(?:den|die|das|diese[ns]?|keine?n?) ${GERMAN} nicht finden\b|\bkenn(?:t|en) (?:wir )?(?:keine?n?|diese[ns]?) ${GERMAN}(?: nicht)?\b|\bhat (?:das unternehmen|die firma) verlassen\b|\bnicht mehr (?:im unternehmen|in der firma|bei uns besch.ftigt)\b`,
    ),
  },
  {
    is: 'invalid_recipient',
    words: words(
      String.raw`${NOT_YOURS}\b(?:address|usuari[oa]|destinatari[oa]|buz.n|casilla|direcci.n|cuenta|correo|alias)(?: (?:de (?:correo(?: electr.nico)?|e-?mail|destino|usuario)|del destinatario|electr.nica|indicad[oa]|solicitad[oa]|address)){0,2}(?: a (?:la|el) que (?:escribe|escribi.|env.a))?(?: (?:ya|es|est.|fue|ha sido|se encuentra))?(?: (?:permanentemente|definitivamente))? (?:ha (?:expirado|caducado)(?: por falta de uso)?|desconocid[oa]|(?:ya )?no existe|inexistente|no (?:fue |ha sido )?(?:encontrad|localizad)[oa]|inv.lid[oa]|no (?:es |est. )?(?:v.lid|registrad|conocid|reconocid|asignad)[oa](?! para\b)|no (?:se )?encuentra|deshabilitad[oa]|desactivad[oa]|inactiv[oa]|(?:elimin|borr|cancel)ad[oa]|suprimid[oa]|dad[oa] de baja)\b|\bno existe (?:(?:el|la|un|una|dich[oa]|es[et][ea]?|ning.na?) ){0,2}(?:persona|usuario|cuenta|buz.n|casilla|direcci.n|destinatario)\b|\bno hay (?:ning.na? )(?:usuario|cuenta|buz.n|casilla|destinatario) (?:con|llamad[oa])\b|\b(?:ya )?no hay nadie (?:aqu. )?con (?:ese|este|tal|dicho) (?:e-?mail|correo|nombre|usuario)\b|\bno se (?:ha |pudo |puede |ha podido )?(?:encontr|localiz)(?:.|a|ado|ar|aron) (?:a |al |el |la |ning.n |ninguna |dich[oa] ){0,2}(?:usuari[oa]|destinatari[oa]|buz.n|casilla|direcci.n|cuenta|address)(?: de correo(?: electr.nico)?)?|\b(?:usuario|destinatario|direcci.n|cuenta|buz.n) (?:err.ne|incorrect)[oa]\b`,
    ),
  },
  {
    is: 'invalid_recipient',
    words: words(
      String.raw`${NOT_YOURS}\b(?:address|utente|destin(?:at)?\.|destinatario|casella(?: di posta)?|indirizzo|account|alias)(?: (?:address|elettronica|e-?mail|di posta elettronica|del destinatario|richiest[oa]|indicat[oa])){0,2}(?: (?:.'?|risulta|(?:. )?stat[oa]))? ?(?:bloccat[oa] per inutilizzo|sconosciut[oa]|inesistente|non (?:.'? )?(?:pi. )?(?:stat[oa] )?(?:esiste|esistente|trovat[oa]|valid[oa]|attiv[oa]|registrat[oa]|presente|conosciut[oa]|in uso)|errat[oa]|disattivat[oa]|disabilitat[oa]|cessat[oa]|(?:cancell|elimin)at[oa]|rimoss[oa]|dismess[oa])\b|\bnon esiste (?:(?:pi.|la|il|un|una|quest[oa]|l'|nessun) ?){0,2}(?:utente|casella|indirizzo|destinatario)\b|\bnessun[oa]? (?:utente|destinatario|account|casella|indirizzo) (?:trovat[oa]|con quest|corrispond)|\b(?:impossibile|non . stato possibile|non . possibile) (?:trovare|individuare) (?:(?:l'|il |la |questo |questa ) ?(?:utente|destinatario|casella|indirizzo|account))`,
    ),
  },
  {
    is: 'invalid_recipient',
    words: words(
      String.raw`${NOT_YOURS}\b(?:address|usu.ri[oa]|destinat.ri[oa]|conta|caixa(?: postal)?|endere.o|alias)(?: (?:de (?:e-?mail|correio|destino)|eletr.nic[oa]|do destinat.rio|informad[oa]|address)){0,2}(?: (?:.|est.|foi|encontra-se))?(?: (?:permanentemente|definitivamente))? (?:desconhecid[oa]|(?:j. )?n.o existe|inexistente|n.o (?:foi |est. |. )?(?:encontrad|localizad|cadastrad|registr?ad|conhecid|v.lid)[oa](?! para\b)|inv.lid[oa]|suspens[oa] por ina\w{1,12}|(?:desativ|cancel|encerr|apag|elimin)ad[oa]|inativ[oa]|exclu.d[oa]|removid[oa])\b|\bn.o existe (?:(?:o|a|um|uma|este|esta|nenhuma?) )?(?:usu.rio|destinat.rio|conta|caixa|endere.o)\b|\bnenhuma? (?:usu.rio|conta|caixa|destinat.rio) (?:encontrad[oa]|com este)|\bn.o (?:foi poss.vel|. poss.vel|conseguimos) (?:encontrar|localizar) (?:o |a |este |esta )(?:usu.rio|destinat.rio|conta|caixa|endere.o)|${NOT_YOURS}\b(?:address|gebruiker|geadresseerde|ontvanger|postvak|mailbox|account|(?:(?:e-?)?mail)?-?adres)(?: address)?(?: (?:is|werd|kon))?(?: hier)? (?:onbekend|bestaat (?:hier )?niet(?: meer)?|niet (?:meer )?(?:gevonden|worden gevonden|bekend|geldig|actief|in gebruik)|ongeldig|opgeheven|verwijderd|gedeactiveerd|uitgeschakeld)\b|\bonbekende? (?:gebruiker|ontvanger|adres)\b`,
    ),
  },
  {
    is: 'invalid_recipient',
    words: words(
      String.raw`(?<![\p{L}])${RUSSIAN}(?: (?:с таким (?:именем|адресом)|получателя|пользователя|электронной почты|address)){0,2}(?: больше)? (?:не (?:существует|найден[ао]?|зарегистрирован[ао]?|известен|значится)|неизвест(?:ен|на|ный)|удал[её]н[ао]?|отключ[её]н[ао]?|деактивирован[ао]?|недействител(?:ен|ьна))(?![\p{L}])|(?<![\p{L}])(?:нет такого|нет такой|неизвестный|несуществующий) ${RUSSIAN}|(?<![\p{L}])не удалось найти (?:address|${RUSSIAN})(?![\p{L}])|(?<![\p{L}])(?:користувач|отримувач|адрес[аи]|скриньк[аи]|address)(?: [a-z]{1,10})? не (?:існує|знайден[оа]?)(?![\p{L}])|(?<![\p{L}])невідом(?:ий|а) (?:користувач|отримувач|адреса)|(?<![\p{L}])тако(?:го|й) ${RUSSIAN} (?:нет|не существует)|(?:address|用户|用戶|使用者|收件人|收件者|收信人|邮箱|郵箱|信箱|地址|帐号|账号|帳號|账户|帐户)(?:名|地址|邮箱|信箱|帐号|账号|address|\s){0,3}(?:不存在|不存在于此|未找到|找不到|没有找到|无效|無效|未注册|已(?:被|经)?(?:停用|禁用|注销|删除|刪除|关闭))|(?:查无此|查無此|无此|無此|找不到(?:该|此)?|没有(?:该|此|这个)|不存在的|未知的?|无效的?)(?:用户|用戶|使用者|收件人|收件者|邮箱|信箱|地址|帐号|账号|帳號)|非本邮件系统用户`,
      'u',
    ),
  },
  {
    is: 'invalid_recipient',
    isAll: true,
    words:
      /(?:odbiorca|u.ytkownik|konto|adres|skrzynka(?: pocztowa)?|address)(?: address)? (?:nie istnieje|nieznan[yae]|nie zosta.[ao]? znalezion[yae])|nieznan[yae] (?:odbiorca|u.ytkownik|adres)|nie ma takiego (?:u.ytkownika|konta|adresu|odbiorcy)|konto (?:odbiorcy )?(?:jest nieaktywne|zosta.o usuni.te)|(?:mottagaren|anv.ndaren|adressen|address) (?:finns inte|existerar inte|.r ok.nd|ok.nd)|ok.nd (?:mottagare|anv.ndare|adress)|ukendt (?:modtager|bruger|adresse)|(?:modtageren|brugeren|adressen|address) (?:findes ikke|eksisterer ikke|er ukendt)|ukjent (?:mottaker|bruker|adresse)|(?:mottakeren|brukeren|adressen|address) (?:finnes ikke|eksisterer ikke|er ukjent)|(?:k.ytt.j..|vastaanottajaa|osoitetta) ei (?:l.ydy|ole olemassa)|tuntematon (?:k.ytt.j.|vastaanottaja|osoite)|(?:u.ivatel|schr.nka|adresa|p..jemce|pou..vate.|pr.jemca|address) (?:neexistuje|nebyla? nalezena?|nen. zn.m)|nezn.m[ya.] (?:u.ivatel|p..jemce|adresa)|nincs ilyen (?:felhaszn.l.|c.m|c.mzett)|ismeretlen (?:felhaszn.l.|c.mzett)|(?:utilizatorul|adresa|destinatarul|contul) (?:\S{1,64} )?(?:nu exist.|(?:este )?(?:necunoscut|inexistent|invalid).?)(?![p{L}])|(?:utilizator|destinatar) (?:\S{1,64} )?(?:necunoscut|inexistent|invalid)(?![p{L}])|(?:felhaszn.l.|c.mzett|c.m|postafi.k) nem (?:l.tezik|tal.lhat.|ismert)|bilinmeyen (?:kullan.c.|al.c.|adres)|(?:pengguna|alamat|penerima) tidak (?:ditemukan|dikenal|ada)|(?:ng..i d.ng|đ.a ch.|h.p th.) kh.ng t.n t.i|(?:korisnik|adresa|uporabnik) (?:ne postoji|ne obstaja|nepoznat)|nepoznat[ai]? (?:korisnik|adresa)|(?:потребител(?:ят)?|адресът) не (?:съществува|е намерен)|няма такъв потребител|.γνωστος χρ.στης|ο χρ.στης δεν υπ.ρχει|(?:bu (?:adreste|sunucuda) )?b.yle bir (?:kullan.c.|adres|al.c.|hesap|posta kutusu) (?:yok|bulunamad.|mevcut de.il)|(?:kullan.c.|al.c.|adres|hesap|posta kutusu|address) (?:bulunamad.|mevcut de.il|bilinmiyor|ge.ersiz)|(?:ユーザー?|アドレス|宛先|受信者|メールボックス|address)[がは](?:存在しません|見つかりません(?:でした)?|登録されていません|不明です)|宛先(?:が)?不明|不明な(?:ユーザー?|宛先|受信者)|존재하지 않는 (?:사용자|수신자|주소|메일)|(?:사용자|수신자|주소|메일함)[가를이] (?:존재하지 않습니다|찾을 수 없습니다|없습니다)/,
  },
  {
    is: 'invalid_recipient_domain',
    words: words(
      String.raw`\b(?:(?:host or |dns )?domain(?: name)?(?: ?["'(<[]?(?:[a-z\d-]{1,63}\.){1,8}[a-z\d-]{1,63}["')>\]]?)?|host(?: or domain)? name|host or domain)(?: is)? (?:(?:does not|doesn'?t) exist|not found|unknown|(?:cannot|can'?t|could not|couldn'?t) be (?:found|resolved))\b|\b(?:no such|non-?exist[ae]nt|unroute?able|unknown|invalid) (?:(?:recipient|destination) )?(?:mail )?domain\b|\bdns hard error looking up \S{1,255} \((?:mx|a|aaaa)\): nxdomain\b|\b(?:dns error: \d{1,20} )?dns type '?mx'? lookup of \S{1,255} responded with code nxdomain\b|\bnxdomain\b|\bnull ?mx\b|\bindicated no smtp service\b|\bhost unknown \((?:authoritative answer from )?name server\b[^()]{0,160}\)|\b(?:cannot|can ?not|can't|could not|couldn't|unable to|(?:was|were)(?: not|n't) able to) (?:find|locate|resolve) (?:the |this |that )?(?:recipient|destination)(?:'s)? (?:mail )?domain\b|\b(?:domain|host)(?: ?(?:[a-z\d-]{1,63}\.){1,8}[a-z\d-]{1,63})? does(?: not|n'?t) accept (?:(?:any|incoming) )?(?:e-?)?mails?\b${OF_ANY_KIND}|\bbad destination (?:system|host)\b|\b(?:cannot|can ?not|can't|could not|couldn't|unable to) find (?:any|a|the) host (?:by|of|with|under) (?:that|this) name\b|\b(?:recipient|destination|mail)(?:'s)? domain (?:must (?:exist|resolve)|(?:mentioned |given |used )?(?:in|of) (?:the |this |your )?(?:e-?mail |recipient )?address is (?:unknown|invalid|not (?:found|known)))|\bdomain part (?:of (?:the |this )?address )?(?:is )?(?:unknown|invalid|does not exist)|\brecipient(?:'s)? (?:mail )?domain(?: (?:[a-z\d-]{1,63}\.){1,8}[a-z\d-]{1,63})?(?: (?:is|was))? (?:not (?:registered|found|known|valid)|unknown|invalid|does not exist)\b`,
    ),
  },
  {
    is: 'invalid_recipient',
    words: words(
      String.raw`\b${WHO}${NAME}${MEANT} (?:(?:is|was|has|have) )?(?:now )?(?:gone|deceased|passed away|died)(?=$|[.,;:)!])|\b(?:user|owner|holder) of (?:this|the|that) ${KIND}(?:mail ?box|account|address) (?:is |has )?(?:gone|deceased|passed away|died)\b|\b${WHO}${NAME} (?:has )?left(?=$|[.;:)!])|\b(?:user|recipient|person|addressee|employee|address|customer|student) (?:has |have )?moved (?:away|to (?:address|a new address)|and left no|without (?:leaving )?(?:an? )?forwarding)\b(?: address)?|\b(?:user|recipient|person|addressee|address) has moved(?=$|[.,;:)!])|\b(?:address|${WHO}) (?:of (?:the |this )?${WHO} )?has changed(?=$|[.,;:)!]| (?:to address|his|her|their) ?)(?: ?(?:e-?mail )?address)?|\b(?:is )?no longer (?:employed|with (?:us|(?:the|our|this) (?:company|firm|organi[sz]ation|school|university|college|institution|department|team)))\b|\bno (?:such )?(?:passwd|password file|password-file|unix|ldap|nis|yp|directory) (?:entry|record) (?:for|of) (?:address|(?:this|that|the|such) ${WHO})|\bnot (?:in|found in) (?:the )?(?:passwd|password file)\b|\b(?:cannot|can ?not|can'?t|could not|couldn'?t|unable to) (?:map|match|translate|expand|associate) (?:the |this |that )?(?:recipient|user|address|alias)(?: address)? (?:to|into|onto|with) (?:any|an?|the|some) ${KIND}(?:mail ?box|user|account|recipient)\b|\b(?:no|there is no|have no|has no) (?:${KIND}(?:mail ?box|forwarding address|user|account|alias|entry|record|recipient)) (?:for|of|named|called) address(?=$|[.,;:)!]| (?:here|exists|found|is (?:known|found)))|\bnever heard of (?:him|her|them|address|(?:this|that|such an?) ${WHO})|\b(?:do not|don'?t) know (?:who address is|address|(?:any ?one|any ?body|no ?body) (?:called|named|by|with|of))\b|\b(?:does not|doesn'?t|do not|don'?t) have (?:this|that) ${KIND}${WHO}${ALONE}|\bnot in (?:the |our |my )?(?:(?:list|table) of )?(?:valid|known|existing|local) ${KIND}(?:recipients?|users?|address(?:es)?)(?: list| table)?\b|\b(?:recipient|user|mail ?box|directory|ldap|address) (?:look ?up|search|validation|verification|check):? (?:not found|no such (?:user|mail ?box|recipient|address)|(?:unknown|invalid) (?:user|mail ?box|recipient|address))\b|\b(?:e-?mail )?address (?:was |has been )?(?:typed|spelled|spelt|entered) (?:incorrectly|wrongly) or (?:does not|doesn'?t) exist\b|\b(?:employee|student|user|person|recipient) has (?:left|graduated|retired)(?=$|[.,;:)!])|\b(?:user|recipient|person) (?:does not|doesn'?t) have (?:an? )?e-?mail(?=$|[.,;:)!])|(?<=^ ?|[.;!] )no longer (?:at this (?:address|company|organi[sz]ation|school|university)|an? (?:customer|subscriber|employee|student))\b|\bthis (?:e-?mail|mail) (?:is (?:not|no longer) (?:valid|monitored|active|in use)|does not exist|doesn'?t exist)\b|\b(?:address|mail ?box|account) is no longer (?:monitored|read)\b|\bno(?: ?one|body) reads (?:mail|e-?mail|messages) (?:at|for|to|sent to) (?:this|that) (?:address|mail ?box|account)\b|\b(?:disposable|throw-?away) address (?:has )?expired\b|\bdomino ?ディレクトリ(?:に)?(?:は)?(?:見つかり|登録されてい|あり)ません|\bno se encuentra en el directorio (?:de )?domino\b|\bnon r.pertori.e? dans l'annuaire(?: domino)?\b|\b(?:not|isn'?t) (?:a )?(?:listed|known|registered) in (?:the )?(?:lotus |ibm |hcl )?(?:domino|notes) directory\b`,
    ),
  },
  {
    is: 'mailbox_disabled',
    words: words(
      String.raw`\b(?:address|user|account|mail ?box|alias|recipient) (?:was|has been|is) (?:deleted|removed|closed|cancell?ed|deactivated) by (?:its|the|his|her|their) (?:owner|user|holder)\b|\b(?:user|owner|customer|recipient) (?:has )?(?:closed|deactivated|cancell?ed|deleted) (?:(?:the|his|her|their|this) )?(?:e-?mail )?(?:account|mail ?box|address|alias)\b`,
    ),
  },
  {
    is: 'invalid_recipient_domain',
    words: words(
      String.raw`\bdomain (?:[a-z\d-]{1,63}\.){1,8}[a-z\d-]{1,63}(?: (?:is|was|has been))? (?:no longer (?:in use|used|hosted(?: here)?|valid|active|exists|registered|served)|not in use|closed|retired|discontinued|obsolete|shut down|expired|defunct)\b|\bdomain (?:[a-z\d-]{1,63}\.){1,8}[a-z\d-]{1,63} (?:does not|doesn'?t) (?:receive|take|handle) (?:any )?(?:e-?)?mails?\b${OF_ANY_KIND}|\b(?:recipient|destination)(?:'s)? domain (?:is |was |has been )?(?:no longer (?:in use|used|hosted|valid|active|exists|registered)|closed|retired|discontinued|obsolete|defunct|has no (?:mx|mail (?:server|exchanger|host)s?)(?: records?)?)\b`,
    ),
  },
  {
    is: 'invalid_recipient_domain',
    isReporters: true,
    words: words(
      String.raw`\bno mx records? (?:was |were )?(?:found )?for (?:the )?(?:recipient(?:'s)? |destination )?(?:domain ?[=:]? ?)?(?:[a-z\d-]{1,63}\.){1,8}[a-z\d-]{1,63}`,
    ),
  },
  {
    is: 'mailbox_disabled',
    words:
      /\b(?:account|user|alias) (?:closed|expired|deleted|removed|cancell?ed)\b|\b(?:no such|unknown) (?:mailing |distribution )?list\b|\bforward(?:ing)?(?: address)? (?:has been |is |was )?(?:deleted|disabled|removed)\b|\b(?:deleted|removed|retired|decommissioned) (?:mail ?box|user|account|address|alias|recipient)\b/,
    isAll: true,
  },
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

/** In the languages in which one of the above has all: it was there, and is disabled. */
export const SAYS_DISABLED =
  /d.sactiv|supprim|r.sili|cl.tur|ferm.e|deaktiv|abgeschaltet|stillgelegt|aufgel|gel(?:.|oe)scht|geschlossen|deshabilit|inactiv[oa]|(?:elimin|borr|cancel|apag|encerr|desactiv|desativ)ad[oa]|(?:disattiv|disabilit|cancell|cess)at[oa]|suprimid|de baja|expirado|caducado|rimoss|dismess|inutilizzo|inativ|exclu.d|removid|suspens[oa] por|opgeheven|verwijderd|gedeactiv|uitgeschakeld|удал|отключ|деактив|停用|禁用|注销|删除|刪除|关闭|nieaktywn|usuni/

/**
 * What says nothing of a cause: that it was not delivered, advice to the reader, and what servers write
 * for themselves.
 */
export const HARMLESS: readonly RegExp[] = [
  /\b(?:ihre|deine) (?:e-?mail|nachricht)(?: an address)? (?:konnte|wurde) nicht zugestellt(?: werden)?\b|\bvotre (?:message|courriel|e-?mail)(?: (?:.|pour|destin. .) address)? (?:n'a pas pu .tre|n'a pas .t.|ne peut pas .tre) (?:remis|distribu.|livr.|envoy.)|\b(?:su|tu) (?:mensaje|correo)(?: (?:a|para) address)? no (?:se (?:pudo|ha podido) entregar|(?:pudo|ha podido) ser entregado|fue entregado|ha sido entregado)|\bil (?:suo|tuo) messaggio(?: a address)? non (?:. stato|pu. essere) (?:recapitato|consegnato|inviato)|\b(?:a )?sua mensagem(?: para address)? n.o (?:p.de ser|foi) entregue|\buw (?:bericht|e-?mail)(?: aan address)? (?:kon|is|werd) niet (?:worden )?(?:bezorgd|afgeleverd)/g,
  /(?:recipient|destinat.rio|endere.o|destinatario|direcci.n|destinataire|adresse|empf(?:.|ae)nger|indirizzo|geadresseerde) (?:rejeitad[oa]|rechazad[oa]|rejet.e?|refus.e?|abgelehnt|abgewiesen|rifiutat[oa]|geweigerd)(?=$|[.,;:)!])/g,
  /\b(?:hard|permanent) bounce\b|^hi \[[\da-f.:]{2,45}\],/g,
  /рекомендуем вам проверить корректность указания адрес[а-я]{1,3} получател[а-я]{1,3}/g,
  /\bthis message was created automatically by (?:the )?mail delivery (?:software|system)\b/g,
  /\bthe attachment contains the original mail headers\b|\(-?\d{1,12}:\d{1,12}:-?\d{1,12}\)/g,
  /\b(?:recipient|user|mail ?box|address) (?:validation|verification|check|look-?up):? (?=(?:no such|unknown|invalid) (?:user|mail ?box|recipient|address)\b)/g,
  /\b(?:e-?)?mail (?:to|for) (?:address|this (?:user|address|mail ?box)) is no longer accepted\b/g,
  /\b\d{1,2}\/\d{1,2}\/\d{2,4} \d{1,2}:\d\d(?::\d\d)?(?: [ap]m\b)?/g,
  /\b(?:(?:i|we) )?(?:cannot|can ?not|can'?t|could not|couldn'?t|(?:was |is )?unable to) (?:deliver|send) (?:(?:your|the|this) )?(?:e-?mail|message|mail)\b(?! (?:for|from|by)\b)/g,
  /(?:^|(?<=[.;!] ))(?:(?:rcpt|recipient|mail) )?(?:refused|rejected|administrative prohibition)(?: ?[,:]| --?)(?= ?\S)/g,
  /(?<=[.;!] )(?:your |the |this )?(?:e-?mail|message|mail) (?:refused|rejected|returned)(?=$|[.;!])/g,
  /\b(?:your |the |this )?(?:e-?mail|message|mail) (?:was|is|has been|could|can) ?(?:not |n'?t )?(?:be )?(?:rejected|refused|returned|bounced|accepted|delivered|sent) (?:because|since|as) (?=(?:the |this |that )?(?:e-?mail |intended |specified |recipient )?(?:user|recipient|address|mail ?box|account|domain)\b)/g,
  /\b(?:if|should) you (?:think|believe|feel) (?:that )?(?:this|it) (?:is|was) (?:an? )?(?:error|mistake|wrong|incorrect|in error|mistaken)\b/g,
  /\brequested (?:mail )?actions? (?:was |were )?(?:not taken|aborted)\b|\bsorry,? but\b|\bor e-?mail forwarding disabled\b|\bthis message was sent to\b|\bunavailable to take delivery of the message\b/g,
  /\byou(?:'ve| have)? (?:just )?(?:sent|tried to send|attempted to send|are (?:trying to send|sending)) (?:an? |your |the |this )?(?:e-?mail|message|mail) to\b/g,
  /(?<=[.;!] )(?:your |the |this )?(?:e-?mail|message|mail),? (?:was|is|has been) (?:refused|rejected|returned)(?=$|[.;!])/g,
  /\(other mx(?:es)? tried:[^()]{0,200}\)/g,
  /\bdns error:? (?:\d{1,20} |(?=dns type\b))|(?:\b\d{1,20} )?\bdns type '?(?:mx|aaaa|a)'? lookup of \S{1,255} (?:responded with code noerror|had no relevant answers)\b/g,
  /\bdns error (?:when|while) (?:resolving|looking up) (?:the )?mx (?:server |host |record )?(?:for|of) \S{1,255}/g,
  /\b(?:the |this )?address may (?:be|have been) (?:mis-?(?:spelled|spelt|typed)|incorrect|wrong)(?:,? or (?:it )?may not exist)?/g,
  /\b(?:please )?(?:reply|write|forward (?:it|this(?: message)?)) to (?:the )?(?:address|postmaster)(?: if [^.;!?]{0,80})?/g,
  /\b(?:please )?(?:try )?(?:re-?|double-?)?(?:check(?:ing)?|verify|correct|confirm)\b(?! fail)[^.;!?]{0,60}\b(?:address|spelling|recipient|typos|spaces|name)\b(?:[^.;!?]{0,60}\b(?:and|before) (?:try(?:ing)?|re-?send(?:ing)?|send(?:ing)?)(?: (?:it|(?:your|the) message))?(?: again)?)?/g,
  /\b(?:please )?(?:check|verify|correct|confirm)(?: it)? and (?:try again|re-?send)/g,
  /(?<!\b(?:or|no|such|(?:trying|tried|attempted|attempting|want|wanted|wish) to) )\b(?:please )?contact [^.;!?]{0,80}/g,
  /\b(?:your |the |this )?(?:e-?mail|message|mail)(?: to (?:the )?(?:address|recipient|user))?,? (?:was|is|has been|could|can|has|will)(?: ?not|n'?t) (?:be |been )?(?:accepted|delivered|sent)\b(?! (?:for|because|due|by|from)\b)/g,
  /\bi will not accept (?:it|(?:(?:your|this|any) )?(?:mail|message)s?)\b(?: for (?:it|him|her|them|address|(?:this|that) (?:address|user|recipient)))?/g,
  /\b(?:make sure|be sure|ensure|check) (?:that )?you (?:did(?: not|n't)|have(?: not|n't)) (?:enter|entered|type|typed|add|added) [^.;!?]{0,120}/g,
  /\b(?:permanent|delivery|transaction|mail) (?:has )?fail(?:ed|ure)(?: for one or more recipients)?/g,
  /\b(?:for|to get) (?:(?:more|further|additional|an) )?(?:information|explanation|details)\b[^.;!?]{0,80}/g,
  /\b(?:recipient|address|user)(?: address)? (?:was |is )?(?:rejected|refused|not accepted)(?=$|[.,;:)!])/g,
  /\b(?:mail|message|delivery|recipient|address|transaction) (?:was |is |has been )?(?:refused|rejected|failed) ?(?:--?|:)(?= ?\S)/g,
  /\b(?:rejected|refused) by (?:(?:a|the) )?(?:remote |destination |recipient'?s? |next )?(?:mail |smtp )?(?:server|host|system|exchanger)\b|\bwhile talking to \S{1,255}/g,
  /\b(?:inactiv\w{1,6}|unused|not (?:been )?(?:used|accessed)) (?:for|in|over|since) [^.;!?]{0,30}(?:\btime\b|\blong\b|\bdays\b|\bmonths\b|\byears?\b)/g,
  /\bmail ?box name (?:is )?not allowed\b|\b(?:invalid|bad) (?:e-?mail |recipient ){0,2}address format\b/g,
  /\breturn(?:ed|ing)? to (?:the )?sender\b|\b(?:error|trouble|problem|while|when) sending (?:(?:your|the|this) )?(?:e-?mail|mail|message)\b/g,
  /\berror (?:has )?occurred while (?:trying to |attempting to )?(?:deliver|send)(?:ing)?\b/g,
  /\bdns error:? (?:\d{1,20} )?dns server returned answer with no data\b/g,
  /\bdns (?:look ?up )?(?:error|failure|failed):? (?=domain|host|no such|non-?exist|nxdomain)/g,
  /\b(?:error|response|reply|answer|status) (?:received )?from (?:the )?(?:remote |destination |recipient'?s? |other )?(?:mail )?(?:server|host|system)\b/g,
  /\byou do not have authorization to see it\b|\bor not yet active\b|\brelay recipient table\b|\brelay (?=recipient (?:not found|unknown))/g,
  /\bcan'?t accept (?:user|recipient|address)\b|(?<=\b(?:removed|deleted)) from (?:our|the|this) (?:system|server|data ?base|directory|domain|company|organi[sz]ation)\b/g,
  /\b(?:not|n'?t|no longer) accept(?:s|ing|ed)? (?:any )?(?:e-?mails?|messages?|mail) (?:for|to|at) (?:this|that|the|such) (?:e-?mail )?(?:address|user|recipient|mail ?box|account)\b/g,
  /\bthank(?:s| you)\b|\bsuppressed sending to this address\b|\bupdate your [^.;!?]{0,40}/g,
  /\b(?:remove|delete) (?:(?:it|them|this|that|the) )?(?:e-?mail )?(?:(?:address|recipient|user) )?from (?:your|the|all) [^.;!?]{0,40}/g,
  /\b(?:user|account|mail ?box|address|recipient) (?:(?:is|was|has been) )?(?:suspended|locked|frozen|expired)(?: or (?:suspended|locked|disabled))?\b(?! (?:at|because|by|due|during|for|from|in|on|or|over|this|to|until|while)\b)/g,
  /\b(?:(?:is |are )?(?:not|no longer) accepting|(?:user|recipient|account|mail ?box|address) (?:does not|doesn'?t|can ?not|can'?t) accept) (?:any |new )?(?:e-?mails?|messages?|mail)\b(?! (?:at|because|by|due|during|for|from|in|larger|of|on|outside|over|than|that|this|to|unless|until|with|without)\b)/g,
  /\b(?:suspended|locked|frozen|expired) (?:user|account|mail ?box)(?=$|[.,;:)!])/g,
  /\byour (?=(?:(?:envelope|intended) )?(?:recipient|addressee)\b)/g,
  /\b(?:did you|you (?:(?:may|might|must) )?(?:have )?)mis-?(?:type|typed|spell|spelled|spelt)\b[^.;!?]{0,30}/g,
  /\b(?:do not|don'?t) (?:write|send(?: (?:mail|messages?|e-?mails?))?|mail) (?:to )?(?:it|(?:this|that) address)(?: (?:again|any ?more))?\b/g,
  /\baccepts no (?:e-?)?mails?\b(?! (?:at|because|by|due|during|for|from|in|larger|of|on|outside|over|than|that|this|to|unless|until|with|without)\b)/g,
  /\bverif.que(?:l[ao])?(?=$|[.;!?)])|\b(?:verif(?:ique|icare)|v.rifiez|compruebe|revise|controllare)\b[^.;!?]{0,40}\b(?:direcci.n|ortograf.a|adresse|orthographe|indirizzo|endere.o)(?![\p{L}])/gu,
  /\b(?:(?:mon|tue|wed|thu|fri|sat|sun), )?\d{1,2} [a-z]{3} \d{4} \d\d:\d\d(?::\d\d)?(?: [+-]\d{4})?/g,
  /\b\d{4}-\d\d-\d\dt?\s?\d\d:\d\d(?::\d\d)?(?:\.\d{1,6})?z?/g,
  /\b(?:from|of|dated) (?:\d{4}[/-]\d{1,2}[/-]\d{1,2}|\d{1,2}[./-]\d{1,2}[./-](?:19|20)\d\d)(?![./-]?\d)/g,
  /\b(?:it'?s|it is|your message is|the message is) (?:attached|enclosed)(?: below)?(?=$|[.;!?,)])/g,
  /(?<![:\da-f])\d\d:\d\d:\d\d(?![:\da-f])/g,
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
    /\bsenders?\b|\bsending\b|\bfrom\b|\byour? (?!(?:e-?)?(?:mails?|messages?)\b(?! (?:address|server|domain|host|account))|tried\b|are trying\b|entered\b|typed\b|specified\b|sent\b|(?:envelope |intended )?(?:recipients?|addressee)\b|address book\b|delivery\b|request\b|letter\b|original message\b)|\byou\b(?=$|[.,;:!)])|\breturn\b|\breply(?:[- ](?:to|path)\b| )|\bbounces?\b|\bcall(?:outs?|backs?|ed|ing)\b|\bverif|\bhelo\b|\behlo\b|\borigin(?!al (?:recipient|message|address)\b)|\bsource\b|<>|\bowner's\b/,
  ip: /\bips?\b|\bipv[46]\b|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}|[\da-f]{1,4}:[\da-f]{0,4}:|\bclient\b|\bptr\b|\brdns\b|\breverse\b|\bconnect|\bnetwork\b|\bhosts? \[|\bdyn:/,
  content:
    /spam|\bjunk\b|\bbulk\b|virus|malware|trojan|infect|phish|attach|\bcontent|\bheaders?\b|\bsubject\b|\blinks?\b|\burls?\b|\bhtml\b|\bmime\b|\bformat|\bfields?\b|\bbody\b|\bcontain(?:s|ing)?\b|\bphrase|\bmessages? (?:was |is |has been )?(?:rejected|refused|blocked|filtered|denied)|\bfiltered\b|unsolicited|unwanted|\badvert|\bforge|\bquarantin/,
  policy:
    /polic(?:y|ies)|\bblock|\bbann|\bbarr|\bden(?:y|ied)\b|\b(?:black|white) ?list|\blisted\b|\bdeny ?list|reputation|\bspf\b|\bdkim\b|\bdmarc\b|\brelay|\bauth(?!oritative)|\baccess\b|\bpermi|\ballow|\bprohibit|\bforbid|\brestrict|\brefus|\bprefer|\baccept|\brules?\b|\babuse|\bsecurity\b|\bunsubscri|\bopted\b|\bnot wanted|\bprivilege|\bsuspen|\brejected by\b|\bcompl|\btls\b|\bkeys?\b|\bcertificat|\bencrypt|\blog ?in\b|\bpasswords?\b|\bmembers?\b|\bonly\b|\bunless\b|\bwithout\b|\bambiguous\b|\bpa(?:id|y|yments?)\b|\bloop|\bhops?\b/,
  size: /\bsize|\blarge|\bbig(?:ger)?\b|quota|\bfull\b|\bspace\b|\bstorage\b|\bdisk\b|\bexceed|\blimit|\bcapacity\b|\btoo (?:many|much|long|fast|quickly|old)\b|\b\d{1,9} ?(?:[kmg]i?b|bytes)\b|\brates?\b|\bover ?loaded\b|\bmore mail\b|\busage\b|\bbandwidth\b/,
  time: /\btemporar|\bagain\b|\blater\b|\bretr(?:y|ied|ies)|\bmoment\b|\bcurrently\b|\bbusy\b|\bseconds?\b|\bminutes?\b|\bhours?\b|\bdays?\b|\bweek|\btomorrow\b|\bmonday\b|\bholiday|\bvacation\b|\btime|\buntil\b|\bwhile\b|\bdelay|\bdefer|\bsoon\b|\byet\b|\bwait|\bmaintenance\b|\bmigrat|\bbackup\b|\bnow\b|\btoday\b|\bqueue|\bin progress\b/,
  system:
    /\b(?:user|recipient|mail ?box|account) (?:exists|does exist|is (?:known|valid))\b|\bdown\b|\boffline\b|\bun(?:reachable|verified)\b|\bnot (?:be )?reach|\bfail-?over\b|\bdid(?: not|n'?t) (?:answer|respond)|\bat this point\b|\bgone away\b|\bcrash|\bi\/o\b|\binternal (?:\w{1,20} ){0,2}(?:errors?|fail|problem)|\bservfail\b|\b(?:look ?up|search|query|check|validation|resolution|dns|directory|data ?base|backend|server|system|configuration|ldap|sql|db)\b[^.;!?]{0,30}\b(?:fail|errors?\b|problem|trouble|unavailable|not available|locked\b|broken\b|missing\b)|\b(?:cannot|can ?not|can't|could not|couldn't|unable to) (?:open|read|access|contact|query)\b/,
  inOtherLanguages:
    /\bexp.diteur|\b.metteur|\banmeld|\beinlog|authentifi|\bautentic|\biniciar sesi|absender|\bremitente|\bremetente|\bemisor|\bmittente|\bafzender|\bvo(?:tre|s) |\bihre?[rmns]? |\bsus? (?:correo|direcci|dominio|servidor|ip)|\b(?:tu[oa]|su[oa]|seu|sua) (?:dominio|server|indirizzo|servidor|endere|ip)|bloqu|blo[ck]?kier|blocc|geblokkeerd|sperr|abgelehnt|abgewiesen|zur.ckgewiesen|\brejet|rechaz|rejeit|rifiut|geweigerd|\bautori|\bnicht (?:erlaubt|berechtigt|erreichbar)|interdit|verboten|\bproib|vietat|\bfiltr|liste (?:noire|blanche)|lista (?:n[eo]|b[lri])|wei(?:ss|ß)e liste|positivliste|politique|pol.tica|richtlini|\bplein|\bvoll(?:es|en|er)?\b|.berf.llt|.berschritten|\bllen[oa]|\bpien[oa]\b|\bchei[oa]|\bvol\b|speicher|\bespace\b|\bespacio|\bspazio|\bespa.o|\bcuota|\bcota\b|\btaille|\bgr..e\b|\bzu gro|tama.o|tamanho|\bd.pass|\bexc[eé]d|super(?:ad|at)|\bl.mite|\bzu viele|\btrop\b|\bdemasiad|\btropp|\bte veel|tempor.r|tempora[ln]|\bplus tard|r.essay|\bsp.ter|sp(?:.|ae)ter\b|\berneut|\bversuch|\bintent|reintent|\bm.s tarde|\bpi. tardi|riprov|\bmais tarde|\btente\b|\bopnieuw|\bderzeit|\bzurzeit|\bmomentan|actual?mente|attualmente|actuellement|\bstunden?\b|\bheures?\b|\bhoras?\b|\bminut|courrier ind|ind.sirable|unerw.nscht|\banh.ng|pi.ce jointe|\badjunto|\ballegat|conten(?:u|ido|uto|.do)\b|\binhalt|indisponi|no disponible|non disponibile|ausgefallen|\bpanne\b|hors service|\bgest.rt|fuera de servicio|переполнен|полон|квот|лимит|превы|повтор|позже|позднее|временн|попроб|спам|отправител|заблок|блокир|политик|откл[оа]н|отказ|запрещ|доступ|вирус|満|满|滿|容量|配额|超过|超出|超限|过大|太大|暂|暫|稍后|稍後|重试|再试|繁忙|垃圾|拒|策略|限制|频率|频繁|黑名单|屏蔽|阻止|发件|發件|寄件|发信|来信|病毒|权限|认证|身份|内容|一時|送信|制限|迷惑|pe.na skrzynka|przepe.nion|nadawc|p..niej|tymczas|odrzuc|g.nderen|engel|ge.ici|kota\b|\bdolu\b|daha sonra/,
}

/**
 * What the words for an address would hide, for they end within it: it is the sender's, a host's or of
 * several, it passes, or it is not so. */
export const AGAINST_WITHIN =
  /\byour (?:own )?(?:(?:e-?)?mail |user |smtp )?(?:address(?! book)|account|mail ?box|user ?(?:name|id)?\b|domain|host|log ?in)\b|\bcurrently (?:disabled|inactive|deactivated|not active)\b|\b(?:one of (?:the |your )?|[2-9]\d{0,5} )(?:recipients|users|addresses|mail ?boxes|accounts)\b|\byou're (?:not|an?)\b|(?:\bnot|n't|\bno means) (?:an? |be )?(?:unknown|invalid|wrong|illegal|incorrect)\b|(?:\bnot|n't) (?:because|mean|that)\b|\bnone of:|\b(?:no|find|locate|unknown) (?:the |an? |matching )?address (?:found\b|of (?:the )?host|for (?:the |that |this )?host|records?\b)/

/**
 * Of these the broad words above are a part, and beside a code that is about the address (5.1.1) they say
 * nothing against it. Without such a code they count.
 */
export const WEAK_BESIDE_CODE: readonly RegExp[] = [
  /\b(?:is|are|was|be|one|user|person|mail ?box|alias|list) called\b(?! (?:by|from)\b)/g,
  /\byou(?:'ve)? (?:have )?(?:wrote|written|addressed|mailed|reached|looked for|are (?:looking for|writing|mailing)|asked for)\b/g,
  /\b(?:does not|doesn'?t|not|no longer) accept(?:s|ing)? (?:any |new )?(?:replies|e-?mails?|mail|messages?)(?=$|[.,;:)!])/g,
  /\baccepted (?:recipients?|addresses|domains?|list)\b/g,
  /\b(?:ticket|support|help ?desk|no|such|unknown) queue\b|\bqueue (?:or|and) mail ?box\b/g,
  /\bnow (?:closed|deleted|disabled|removed|inactive|deactivated|gone|invalid|at|with)\b/g,
  /\b(?:full (?:name|address)|complete (?:e-?mail )?address|(?:in|on|of) (?:our|this|the) network)\b/g,
  /\b(?:removed|deleted|missing|absent|gone|dropped|purged) from (?:our|this|the) (?:system|server|data ?base|directory|domain|company|organi[sz]ation|site|host|address book)\b/g,
  /\b(?:do not|don'?t|never) (?:(?!try\b)\w{1,20} ){1,4}again\b/g,
  /\b\d{1,5} (?:days|weeks|months|years) ago\b|\bdays of inactivity\b/g,
  /\bnot listed (?:in|on|at)\b|\bno such log ?in\b/g,
  /\b(?:contains?|containing) (?:an? |any )?(?:illegal |invalid )?(?:spaces?|characters?)\b|\b(?:address|local part|recipient) (?:is )?too long\b|\b(?:address|recipient) (?:format|is (?:\w{1,20} )?formatted)\b|\bwithout an? (?:at[- ]sign|local part)\b/g,
]

/** That another attempt may do better, whatever else is said. */
export const WILL_PASS =
  /\btempora(?:r|l|n|ir)|\btempor.r|\blater\b|\bat (?:this|the) (?:time|moment)\b|\bnot found,? try again\b|\bwill (?:be )?(?:retr|keep|continue)|\bplus tard|\bsp(?:.|ae)ter\b|\bm.s tarde\b|\bpi. tardi\b|\bmais tarde\b|\br.essay|\briprov|\bopnieuw\b|\bvorübergehend|\bvoruebergehend/
