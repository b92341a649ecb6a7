/**
 * What the texts and codes of SMTP replies mean: data, read from the top, the first match wins.
 *
 * Texts come before codes because codes are used loosely: `552` is a full mailbox, a large message,
 * a virus or an unknown user; `5.4.6` is a loop for Sendmail and a spam block for Zoho. What "auth"
 * means depends on the step: after AUTH it is about the login, anywhere else it is as likely about
 * SPF and DKIM or about who may write to a mailing list, so no text rule here speaks of a rejected
 * login and AUTH_RULES are only for replies to AUTH.
 */
import type { FailureCategory } from './failure-category.ts'

export interface ReplyRule {
  readonly is: FailureCategory
  readonly words?: RegExp
  /** Tested against the reply code. */
  readonly code?: RegExp
  /** Tested against the enhanced status code; a reply without one does not match. */
  readonly enhanced?: RegExp
  /** Where the reply's class lies. */
  readonly retry?: 'always' | 'never'
  readonly cannotHealByWaiting?: true
}

const rule = (is: FailureCategory, words: RegExp, more: Partial<ReplyRule> = {}): ReplyRule => ({
  is,
  words,
  ...more,
})

/** Replies to AUTH, before anything else. What is left over is decided by its class. */
export const AUTH_RULES: readonly ReplyRule[] = [
  rule(
    'sender_quota_exhausted',
    /maximum credits exceeded|(daily|monthly) (message |sending )?(quota|limit)/,
  ),
  rule(
    'tls_required',
    /starttls|(tls|ssl|encrypt\w*) (is )?(required|first)|secure connection|only (available )?(with|over|via|on) (ssl|tls)|tls .{0,20}not supported/,
  ),
  rule(
    'auth_rejected',
    /(smtp ?client ?authentication|basic auth\w*|smtp auth\w*|auth\w*) is disabled|app(lication)?[- ]?(specific )?password|parol prilozheniya|authori[sz]ation code/,
    { cannotHealByWaiting: true },
  ),
  rule(
    'auth_throttled',
    /too many (\w+ ){0,3}(login|auth\w*|attempts?|failures?|bad|failed)|limited to \d{1,6} |hourly|(per|an|each|\/) ?(hour|minute)\b|probation|will be (re-?)?enabled|(login|auth\w*) (rate|frequency)|rate ?limit|temporarily (locked|blocked)|frequency/,
  ),
  rule(
    'sender_concurrency_limited',
    /(concurrent|simultaneous|too many) (\w+ )?(connections|sessions)/,
  ),
  // Of where it is said from, not of who logs in.
  rule(
    'blocked_reputation',
    /black ?list|block ?list|\brbl\b|dnsbl|spamhaus|poor reputation|(\b(ip|host|network)\b|\d\.\d{1,3}\.\d{1,3}\.\d).{0,60}\b(blocked|banned|denied)\b/,
  ),
  // RFC 7504 §3.1, and Microsoft's for a relay that is closed: there is no mail here at all.
  { is: 'blocked_policy', code: /^(521|571)/ },
  rule(
    'auth_temporary',
    /temporar|unreachable|(?<!account |mailbox )un?available|connection (lost|refused|timed out)|try (it |again )?later|timed? ?out|(system|server) (is )?busy|internal (\w+ ){0,2}(error|failure)|generic failure|password transition|backend|service not/,
  ),
  rule('auth_required', /authentication (is )?required|not authenticated/, { code: /^530/ }),
  rule(
    'protocol_error',
    /argument|syntax|cannot decode|protocol violation|(mechanism|authentication type|auth type) .{0,30}(not|un)|(unrecogni[sz]ed|invalid|unsupported|unknown) auth\w* (mechanism|type|method)|unrecogni[sz]ed auth/,
  ),
  {
    is: 'protocol_error',
    code: /^50[0-4]/,
    words: /^(?!.*(authentication fail|invalid cred|bad cred|password|login fail)).*$/,
  },
]

export const TEXT_RULES: readonly ReplyRule[] = [
  // Given up by a relay, whatever the last error was.
  rule(
    'expired',
    /message (has )?(expired|timeout|timed out)|retry (time|timeout) .{0,20}exceeded|(delivery|queue) time-?(out)?\b|in the queue too long|(could not|cannot) be delivered (within|for) .{0,20}(days|hours)/,
    { code: /^5/ },
  ),

  // The sending account: how much, how fast, at all.
  rule(
    'sender_mailbox_full',
    /storedrv\.submission\.exception:quota|sender'?s? mailbox (is )?full/,
  ),
  rule(
    'recipient_rate_limited',
    /receiving (mail|messages|e-?mail) (at a rate|too (quickly|fast))|rate that prevents additional|recipient thread limit|recipient'?s? .{0,20}(receiv\w+|per hour|per day).{0,30}(limit|exceed)|recipient (has )?exceeded (their |the )?(message )?(rate )?limit|storedrv\.deliver.{0,60}(throttl|thread)|mailbox .{0,40}receiving too/,
  ),
  rule(
    'sender_quota_exhausted',
    /submissionquota|maximum credits|(daily|monthly|24[ -]?hours?) .{0,30}(quota|limit|allowance)|(quota|limit|allowance) .{0,30}(daily|monthly|per day|per month|24[ -]?hours?)|e-?mail quota exceeded|sending (quota|limit)s? .{0,20}(exceeded|reached)|(exceeded|reached|over) (the |its |your )?(sending|outbound|mailing|relay|plan|account'?s?) (quota|limit)|out of credits|(messages|emails|mails) (per|a) day|credits? (limit )?(exhausted|exceeded)/,
  ),
  rule('temporary', /connection rate limit exceeded|queue quota/, { code: /^4/ }),
  rule(
    'temporary',
    /(max\w*|too many) .{0,15}(messages?|mails?|transactions?|deliveries) (per|in|on|for|over) (this |a |one |same )?(single )?(connection|session)/,
  ),
  rule('content_rejected', /duplicate header|line length|lines? (is |are )?too long/),
  rule('protocol_error', /unauthenticated commands|^protocol (error|violation)/),
  rule(
    'blocked_unauthenticated_domain',
    /\bspf\b|\bdkim\b|\bdmarc\b|sender policy framework|domainkeys|unauthenticated(?! senders? not allowed)|required authentication level|isn't aligned|authentication (checks|information|results?) |pass authentication/,
  ),
  rule(
    'sender_domain_dns',
    /un(resolv|route?|deliver)able .{0,20}(from|sender)( domain| address)?\b|unresolvable rfc.{0,10}domain/,
  ),
  rule('blocked_reputation', /permanently deferred/),
  rule(
    'greylisted',
    /gr[ea]y[- ]?list|postgrey|not yet authori[sz]ed to deliver|internal resources are temporarily unavailable|\[gl\d\d\]|first (time )?(seen|contact).{0,40}(try|retry) .{0,20}later/,
  ),
  rule(
    'blocked_rate',
    /(mail|message|server|ip|client|host|connection|traffic|domain)s? .{0,40}rate[ -]?limited|unusual rate|unexpected volume|(excessive|high|large) (volume|rate)|volume (of|or) .{0,40}complaint|frequency (is )?limited|connection frequency|too frequent|too many connects/,
  ),
  rule(
    'blocked_rate',
    /(messages?|mail) from .{0,60}(temporarily )?deferred|server ip has exceeded|exceeded .{0,20}rate limit allowed|permitted limits|traffic .{0,20}(throttled|slowed)|too many recent (e-?)?(mails|messages)|\[ts0[1-3]\]|\[tss0\d\]|rl0000\d\d|\(as\d{3,4}\)|too many spams? from your ip|too many errors from your ip|ip .{0,40}(temporarily|rate) (rate )?(limited|deferred|blacklisted|blocked)|sending messages with the same/,
    { code: /^4/ },
  ),
  rule(
    'sender_concurrency_limited',
    /(concurrent|simultaneous|parallel) (smtp |client |server )?(connections?|sessions?)|too many (open |smtp |active |opened |established |incoming )*(connections?|sessions?|clients)|trop de connexions|(connection|session)s? (limit|count) .{0,20}(exceeded|reached)|(max\w*|limit) .{0,20}(number of )?connections|outbound thread limit/,
  ),
  rule(
    'sender_rate_limited',
    /rate ?limit|submission rate|rate overlimit|over ?rate limit|sending rate|throttl|hour(ly)? (send\w* |message |mail |e-?mail )?(limit|quota)|(per|this|an|each|every|in the last|last|\/ ?1?) ?(hour|minute|second|h\b).{0,60}(exceed|limit|throttl|upgrade|allowed|reached)|(exceed|limit|too many|max)\w*.{0,60}(per|this|an|each|in the last|last|\/ ?1?) ?(hour|minute|second|min\b|h\b)|(mail|message) send limit|sending (mail |messages |e-?mails? )?too (many|fast|quickly|much)|too many (e-?)?(mails|messages) (sent|from)|slow down|too much mail from|sending limit|relay limit exceeded/,
  ),

  // TLS, which also stands behind "auth".
  rule('tls_required', /must issue (a )?starttls|starttls (command )?first/, {
    retry: 'never',
  }),
  rule(
    'tls_required',
    /(tls|ssl|encryption|encrypted connection|secure connection) (is )?(required|mandatory|needed|must be)|(requires?|only (available )?(with|over|via)|must use|please use|senders to use) .{0,40}(tls|ssl|encrypt\w+|cipher)|\bno tls|without tls|plain ?text (connection|session)s? .{0,20}not/,
  ),
  rule(
    'tls_unavailable',
    /(start)?tls .{0,30}(not (currently )?(available|supported|offered)|unavailable|failed|failure|local problem|temporar)|starttls-not|(cannot|unable to|can't) (start|initiali[sz]e|negotiate) (tls|security|ssl)|tlsa-|dnssec-|certificate/,
  ),

  // Who may send what from where.
  rule('sender_not_authorized', /invalid credentials for relay|relay .{0,40}invalid credentials/),
  rule('auth_required', /unauthenticated senders? not allowed|submitter failed to authenticate/),
  { is: 'blocked_reputation', enhanced: /^5\.7\.(511|513|6[0-4]\d)$/ },
  { is: 'sender_blocked', enhanced: /^5\.7\.(50[1-3]|7\d\d)$/ },
  rule(
    'sender_blocked',
    /bad outbound sender|sender address (is )?blocked|sender account|(sending|outbound\w*|sends?|smtp) (for this account |from this account |access )?(is |has been |are |was )?(paused|suspended|disabled|denied|blocked|restricted)|your (account|mailbox|domain|user) .{0,40}(suspended|disabled|blocked|locked|restricted|banned|deactivated|terminated)|(account|domain|user|customer) .{0,60}(suspended|blocked|restricted|banned) (for|from|due|because)(?! (to |of )?(inactivity|non-?use|lack of use))|unusual sending|outbound (spam|mail) .{0,40}(blocked|suspended|limit)|tenant .{0,20}(exceeded|threshold|restricted)|traffic not accepted|outbounds? (is |are )?disabled|spam abuse detected|access denied, banned sender(?! ?ip)|outgoing (mail|e-?mail) .{0,40}(suspended|disabled|blocked)/,
  ),
  rule('mailbox_full', /(mail ?box|maildir|in ?box) (size|storage) (limit|quota|exceeds)/),
  rule(
    'message_too_large',
    /recipsizelimit|sendsizelimit|databytes|(message|mail|e-?mail|attachment|header|file|body|it)s? .{0,20}(is |are |was )?too (large|big|long)|too (large|big) (message|mail|for)|too much mail data|size per (?!trans)|(size|length) .{0,60}(exceed|limit|too (big|large)|maximum|greater|allowed)|(exceed|maximum|max|larger|limit)\w* .{0,60}(?<!policy )(size|length)\b|(messages?|mails?) (larger|bigger|greater) than|nachricht .{0,20}zu gro/,
  ),
  rule(
    'mailbox_full',
    /(user|recipient|account|mail ?box)\b.{0,30}\b(not (have )?enough|insufficient|out of|no) (free |disk |storage )*(space|storage|room)\b|(recipient|user|mail ?box) storage full/,
  ),
  rule(
    'mailbox_full',
    /(mail ?box|in ?box|mail ?folder|maildir|mailstore|postfach|boite|bo.te|casella|buz.n)\b.{0,60}(\bfull\b|quota|out of storage|exceeded|pleine|voll\b|piena|lleno|not enough|no space)|over ?-?quota|(user|recipient|account|disk|storage|domain|mail) .{0,40}(quota|storage (limit|space|allocation))( is| was| has been| would be)? ?(exceed|full|reached|over)|quota (is |has been |was )?(exceeded|reached|full|violation)|exceed\w*.{0,30} (storage|disk|mailbox) (quota|limit|allocation|space)|account storage limit|out of (disk|storage) space|(user|recipient|account|mail ?box) .{0,20}(exceed\w*|reached|over) .{0,20}quota|(speichervolumen|speicherplatz) .{0,30}(.berschritten|ueberschritten|ersch.pft|voll)|exhausted .{0,20}storage|insufficient (disk|mailbox|storage) (space|quota)? ?(for|in) .{0,20}(user|mailbox|recipient)|(user|recipient|account) .{0,30}(is|has) (over|full|exceeded)/,
  ),
  { is: 'recipient_rejects_external', enhanced: /^5\.7\.(124|13[3-6]|193)$/ },
  rule(
    'recipient_rejects_external',
    /resolver\.rst\.(?!recipsize|sendsize|recip\w*limit)|not authenticated (by|for) |authenticated by organi[sz]ation|(only )?accepts? (mail|messages|e-?mails?)( only)? from (\w+ ){0,3}(people|internal|members|authenticated|senders|inside|within)|(outside|external) .{0,20}(of )?(your|the|their|its|this) organi[sz]ation|allowed[- ]senders|restricted to (members|internal|authenticated)|does not accept (mail|messages|e-?mails?) from (outside|external|the internet)|internal use only|not (a )?(member|subscriber) of (the|this)/,
  ),
  rule(
    'sender_domain_dns',
    /sender address rejected: (domain not found|malformed dns)|domain of sender .{0,80}(not|unresolv)|(sender|from)('s)? (address )?domain .{0,40}(not (found|exist|resol)|no |does not|doesn't|unresolv|invalid)|(mail|return)[- ]?(from|path) .{0,40}(domain|dns|mx\b).{0,40}(not|no|unresolv|fail)|invalid dns mx|from: domain is invalid|sender .{0,60}(not resolve|no mx|no valid mx|does not exist)|(cannot|can't|could not|unable to) (resolve|find) .{0,40}sender/,
  ),
  rule(
    'sender_not_allowed',
    /send ?as ?denied|permissions? to (send as|submit)|not owned by|not one of your|relaying disallowed|unconfigured sending domain|(address|identity|identities|domain|sender) .{0,60}(is |are |has |have )?not (been )?verified|verified (sender|domain|identit)|sender identity|must (be|equal|match) .{0,20}(same as )?(the )?auth|must be (the )?same|no identity changes|not authori[sz]ed to (send (from|as|on|using)|use|perform)|not allowed to (send (from|as)|use)|(from|sender|envelope)( address| domain| header)? .{0,30}(is |are )?not (allowed|permitted|authori[sz]ed|match)|(sender|from)( address| header)? .{0,40}((does not|doesn't|do not) (match|belong|correspond)|mismatch)|unauthori[sz]ed (sender|from)|(may|can) ?not send (from|as|on behalf)|domain .{0,60}is not allowed to send|not local sender|sender address .{0,20}reserved|sandbox|sender .{0,40}not (logged in|permitted)|invalid (mail )?(from|sender) (address|header)|(sender|from)( address| domain)? (is |was )?(unauthori[sz]ed|invalid)|(invalid|illegal) sender\b(?! ?ip)|(emetteur|exp.diteur) .{0,20}(invalide|inconnu)|free accounts are/,
  ),
  { is: 'sender_not_allowed', enhanced: /^[45]\.1\.7$/ },
  rule(
    'too_many_recipients',
    /too many (rcpt|recipient|invalid recip|recepient|addressee)|reciplimit|(recipients|rcpts) .{0,30}limit|recipient (count|limit)|(maximum|max|limit)\w* .{0,15}(number of )?(recipients|rcpts)\b|size per transaction/,
  ),

  // Where mail cannot go.
  rule(
    'relay_denied',
    /relay(ing)?( access| attempt| of mail| mail)?( is| was| to .{1,60})? ?(denied|not (permitted|allowed)|prohibited|rejected|disabled|not possible|refused)|(not|denied|permitted|unable|refus\w+|cannot|will not|won't|don't) (\w+ )?(to )?relay|allowed rcpthosts|\bno relay|as a relay\b|relay (permission|access)|not (an )?open relay|tenantattribution|no such domain (at this location|here)/,
  ),
  rule(
    'mail_loop',
    /too many hops|hop count|exceeded \d+ hops|mail(er)? loop|loop (detected|back)|routing loop|loops? back|too many 'received'|too many received|message (is )?looping|forwarding loop/,
  ),
  rule('blocked_policy', /helo command rejected/, { code: /^(4|55)/ }),
  rule('blocked_policy', /\bptr\b|reverse[- ](dns|host|lookup)|\brdns\b/),
  rule(
    'recipient_domain_dns',
    /(host|domain) (name )?not found,? try again|(malformed|unexpected) (or unexpected )?name server reply|name (service|server) error .{0,80}try again/,
  ),
  rule(
    'recipient_domain_dns',
    /no (valid )?mx|no (mx|a|dns) (or a )?(record|host)|name (service|server) error|domain .{0,40}(not found|does not exist|doesn't exist|not exist|invalid)|host (or domain name )?(not found|unknown)|unknown (host|domain)|(find|resolve|look ?up) .{0,30}(recipient |destination )?(domain|host)\b|nxdomain|nonexistentdomain|dns .{0,40}(fail|error|not|timeout|problem|temporar)|null ?mx|unrouteable (mail )?domain|mx records? point/,
    { code: /^4/ },
  ),
  rule(
    'invalid_recipient_domain',
    /no (valid )?mx|no (mx|a|dns) (or a )?(record|host)|name (service|server) error|domain .{0,40}(not found|does not exist|doesn't exist|not exist|not reachable)|(^|\s)[a-z\d-]{1,48}(\.[a-z\d-]{1,48}){1,9} does(n't| not) exist|host (or domain name )?(not found|unknown)|unknown (host|domain)|(find|resolve|look ?up) .{0,30}(recipient |destination )?(domain|host)\b|nxdomain|nonexistentdomain|null ?mx|unrouteable (mail )?domain|mx records? point|(domain|host|server|system) does not (accept|receive) (any )?(mail|e-?mail|messages)|bad destination (system|host)/,
    { code: /^5/ },
  ),
  rule('network', /suspiciousremoteserver/),

  // What is in it, and who it comes from.
  rule(
    'blocked_reputation',
    /\b(your|from|this|the|sending|source|client|remote) ip\b( address(es)?)?.{0,40}\b(blocked|banned|denied|listed|barred|refused|rejected)\b|\bip( address)? (blocked|banned|denied|barred)\b/,
  ),
  rule(
    'blocked_reputation',
    /reputation|spamhaus|spamcop|sorbs|uceprotect|abuseat|black ?-?list|block ?-?list|deny ?-?list|not in whitelist|\b(dns|r|x|s)?bl\b|dnsbl|\brbl|attrbl|\[bl\d\d\]|bl0000\d\d|not accepting connections|banned sending ip|banned sender ?ip|blocked (using|by|- see)|(client|host) blocked|(client|host|ip|sender|server|connection|network|address|you)s? .{0,60}(is |are |has been |was |been |been )(blocked|banned|blacklisted|listed|denied|barred)|(is|are|was) listed (in|on|at|by)|blocked from|connections? (will )?not (be )?accepted|connections? from .{0,60}(refused|rejected|denied|not accepted|blocked)|on our block|cloudmark|\bcsi\b|senderscore|senderbase|talos|trustedsource|dynamic (ip|address|pool)|dialup|residential|\bib10\d|a problem occurred\. \(ask your postmaster|due to abuse|abusive|s31[45]0|dy-00\d|sc-00\d|ou-00\d/,
  ),
  rule(
    'blocked_spam',
    /(reject|detect|classif|identif|flagg|block|mark|consider)\w* as (spam|junk)/,
  ),
  rule(
    'content_rejected',
    /virus|malware|trojan|infected|potential security|security (risk|issue|threat)|phish|(illegal|forbidden|blocked|prohibited|banned|disallowed|dangerous|unacceptable|suspicious|executable) .{0,20}(attachment|file|extension|content)|\bnot (allow|accept|permit|take) (\w+ )?attachments?\b|attachment .{0,60}(not |blocked|forbidden|prohibited|reject|banned|guideline)|content (is |was |has been )?(rejected|denied|not|filter|restrict|block)|contents? .{0,30}(reject|block|not accept)|(message|mail|body|bad|unacceptable) content|malformed(?! recipient\b)|(multiple|missing|invalid|duplicate|no valid) .{0,20}(from\b|date\b|message-id|headers?\b|subject)|(from|message-id|subject|disallowed):? header|encoded-word|rfc ?[25]?[83]22|not (rfc )?compliant|lines? (is |are |was )?too long|line length|bare (lf|cr|newline)|mime .{0,20}(error|invalid|bad)|\bheaders?\b .{0,40}(invalid|illegal|missing|bad|required|error)|contains? .{0,40}(link|url)|data format/,
  ),
  rule(
    'blocked_spam',
    /spam|(message|mail|content) (was |has been |is )?filtered|unsolicited|junk ?mail|bulk (e-?)?mail|\bube\b|\buce\b|suspicio|suspect|\bdt:spm\b|:spm\b|:spb\b|content .{0,20}score|nature of the content/,
  ),

  // The mailbox: first what is not its own fault, or will pass.
  rule(
    'blocked_policy',
    /\b(user|recipient|account|customer|person)\b.{0,20}\b(has |have )?(blocked|banned|barred) (you|your|the sender|this sender|mail|messages|e-?mail)\b|\bnot accept(ing)? (any )?(mails?|messages?|e-?mails?) from (you|your|this|the sender)\b/,
  ),
  rule(
    'temporary',
    /\b(mail ?box|account|user|recipient|address)\b.{0,40}\btemporar(il)?y (locked|blocked|disabled|suspended|closed|inactive|deactivated)|\btemporar(il)?y (locked|blocked|disabled|suspended|closed|inactive|deactivated) (mail ?box|account|user|recipient|address)/,
  ),
  rule('protocol_error', /\b(helo|ehlo)\b/, { code: /^50/ }),
  rule('invalid_recipient', /badrcptto|inactive (e-?mail )?address/),
  rule(
    'temporary',
    /temporarily (unavailable|not available|inaccessible)|mail ?box (is )?(currently )?(busy|in use|unavailable)/,
    {
      code: /^4/,
    },
  ),
  { is: 'invalid_recipient', enhanced: /^[45]\.1\.(1|3|6)$/ },
  rule(
    'blocked_policy',
    /recipient address rejected: .{0,40}\bblock|unverif[iy]+able .{0,20}(ip|host|client)|(invalid|bogus) (client |source )?ip\b|permanent failure for one or more recipients(?!.{0,20}\b[45]\d\d\b)/,
  ),
  rule('mailbox_disabled', /disabled recipient/),
  rule(
    'mailbox_disabled',
    /(mail ?box|account|user|recipient|address|customer).{0,60}(disabled|inactive|suspended|deactivated|locked|frozen|expired|closed|blocked|not active|dormant|discontinued|terminated)|(disabled|inactive|suspended|deactivated|expired|closed|archived) (mail ?box|account|user|recipient)/,
  ),
  rule(
    'blocked_policy',
    /sender (address |domain |e-?mail )?(was |is |has been )?(rejected|denied|refused)|sender verify failed/,
  ),
  rule(
    'invalid_recipient',
    /(unknown|invalid|bad|illegal|nonexistent|non-existent|undeliverable|unrouteable|undefined|incorrect) (local |virtual |destination |e-?mail |mail ?box |recipient )*(user|recipient|mail ?box|address|addressee|account|local|alias|e-?mail)|(user|recipient|mail ?box|address|account|person|alias|addressee|customer)s?\b.{0,60}(unknown|not (found|exist|known|listed|valid|recogni|registered|available|here|local|a valid|present)|no longer|does(n't| not)|doesn.t|unavailable|invalid|undeliverable|cannot be found|couldn't be found|could not be found|nonexist)|no such|no mail ?box|\bno (user|recipient|account|mailbox|one) |user (doesn't|does not|doesn.t) have|(name|names) (is )?not allowed|recipient ?not ?found|recipnotfound|not our (customer|user)|recipients? (was |were )?(rejected|refused)|(?<!recipient )address rejected|not a (valid|known|local|registered)|isn't a |user not local|no longer (valid|in use|available|active|on|works|accept)|e-?mail (account |address |id )?(does )?(not|n't) exist|^not (used|in use)|mailbox unavailable|destinataire .{0,40}(invalide|inconnu)|(empf.nger|benutzer|adresse) .{0,40}(unbekannt|ung.ltig|existiert nicht|invalide)|(utente|destinatario|indirizzo|casella) .{0,20}(sconosciut[oa]|inesistente)|usuario .{0,30}(desconocido|no existe)|no existe .{0,20}(persona|usuario|cuenta)|verification failed for|not listed in|no valid recipients|can't verify|callout verification|no mailbox|not have an? (\S{1,48} )?account|(account|mail ?box|user) (is |was |has )?not (been )?activated|(utilisateur|destinataire|adresse) (est )?inconnue?\b/,
  ),
  {
    is: 'invalid_recipient',
    words: /recipient address(es)? rejected/,
    enhanced: /^[45]\.(1|4)\.\d+$/,
  },

  rule(
    'blocked_policy',
    /polic(y|ies)|\bhelo\b|\behlo\b|access (is |was |has been )?(denied|rejected|refused|not allowed|forbidden)|administrative(ly)? (prohibit|block|reject|lockout|den)|prohibit|not (welcome|authori[sz]ed|allowed|permitted)|host rejected|banned|forbidden|refused|\[ph\d\d\]|\[cs\d\d\]|could not be verified|spoof|rejected by|envelope (blocked|rejected)|message (was |has been )?(rejected|refused|blocked|denied)|mail (was |is |has been )?(rejected|refused|rejet)|local violation|service refus|client rejected|connection (rejected|denied)|not accepted/,
    { code: /^5/ },
  ),
  rule(
    'blocked_policy',
    /\bhelo\b|client host rejected|polic(y|ies)|access denied|could not be verified|\[cs\d\d\]/,
    { code: /^4/ },
  ),
  rule('invalid_recipient', /recipient address rejected/, { code: /^5/ }),
  { is: 'blocked_rate', enhanced: /^4\.7\.(28|[568]\d\d)$/ },
  rule(
    'network',
    /connection (was |has )?(timed out|timeout|refused|reset|dropped|lost|expired|broken|aborted|closed by)|no route|network (is )?unreachable|timeout|timed out|no answer from|could not connect|unable to connect/,
    { code: /^4/ },
  ),
  rule(
    'greylisted',
    /(try|come) (it )?(again |back )?later|temporarily (rejected|deferred|denied)|retry later|please retry|wait .{0,20}(minutes|seconds)/,
    { code: /^45[01]/, enhanced: /^4\.7\.1$/ },
  ),
  rule(
    'temporary',
    /temporar|try (it )?(again|later)|later|busy|maintenance|system (error|problem|resources|storage|failure)|resources?|local (error|problem)|service (currently |is |is currently )?(not available|unavailable)|closing|insufficient|internal (server )?error|queue|overload|shutting down|out of memory|disk|deferred|in processing/,
    { code: /^4/ },
  ),
  rule(
    'protocol_error',
    /syntax|unrecogni[sz]ed|not recogni[sz]ed|(command|parameter|argument|option)s? .{0,40}(not|unknown|invalid|too)|(bad|improper) (sequence|command|syntax)|out of (order|sequence)|(unknown|invalid|too many) (\w+ )?commands?|nested mail|(need|send|issue|requires?) .{0,20}(mail|rcpt|helo|ehlo|hello|data)\b|first|not implemented|protocol (error|violation)|pipelin|no recipients|transaction/,
    { code: /^(50\d|555|525|45[045])/ },
  ),
]

/** A code, with where its meaning is written. */
export interface CodeRule extends ReplyRule {
  readonly words?: never
  readonly source: string
}

const address = 'RFC 3463 §3.2'
const mailbox = 'RFC 3463 §3.3'
const system = 'RFC 3463 §3.4'
const network = 'RFC 3463 §3.5'
const protocol = 'RFC 3463 §3.6'
const media = 'RFC 3463 §3.7'
const security = 'RFC 3463 §3.8'
const replies = 'RFC 5321 §4.2'
/** https://support.google.com/a/answer/3726730 */
const gmail = 'Gmail SMTP errors and codes'
/** https://learn.microsoft.com/troubleshoot/exchange/email-delivery/ndr/non-delivery-reports-in-exchange-online */
const exchange = 'Exchange Online non-delivery reports'

/** Where the text says nothing that is known. */
export const CODE_RULES: readonly CodeRule[] = [
  { is: 'invalid_recipient', enhanced: /^[45]\.1\.(1|3|6)$/, source: address },
  {
    is: 'invalid_recipient_domain',
    enhanced: /^5\.(1\.(2|10)|4\.(4|310))$/,
    source: `${address}, ${network}, RFC 7505, ${exchange}`,
  },
  {
    is: 'recipient_domain_dns',
    enhanced: /^4\.(1\.2|4\.(3|4))$/,
    source: `${address}, ${network}`,
  },
  { is: 'sender_domain_dns', enhanced: /^[45]\.1\.(8|9)$/, source: address },
  { is: 'sender_quota_exhausted', enhanced: /^5\.4\.5$/, source: gmail },
  { is: 'sender_quota_exhausted', enhanced: /^5\.1\.90$/, source: exchange },
  { is: 'recipient_rate_limited', code: /^4/, enhanced: /^4\.2\.1$/, source: gmail },
  { is: 'mailbox_disabled', enhanced: /^5\.2\.1$/, source: mailbox },
  { is: 'mailbox_full', enhanced: /^[45]\.2\.2$/, source: mailbox },
  {
    is: 'message_too_large',
    enhanced: /^([45]\.2\.3|[45]\.3\.4)$/,
    source: `${mailbox}, ${system}`,
  },
  { is: 'recipient_rate_limited', enhanced: /^[45]\.2\.12[12]$/, source: exchange },
  { is: 'sender_not_allowed', enhanced: /^5\.(2\.252|7\.60)$/, source: exchange },
  { is: 'mail_loop', enhanced: /^[45]\.4\.(6|14)$/, source: `${network}, ${exchange}` },
  // The domain's list of recipients does not have the address.
  { is: 'invalid_recipient', enhanced: /^5\.4\.1$/, source: exchange },
  {
    is: 'expired',
    code: /^5/,
    enhanced: /^[45]\.4\.(7|3\d\d)$/,
    source: `${network}, ${exchange}`,
  },
  {
    is: 'network',
    code: /^4/,
    enhanced: /^4\.4\.(1|2|7|31\d)$/,
    source: `${network}, ${exchange}`,
  },
  { is: 'too_many_recipients', enhanced: /^[45]\.5\.3$/, source: protocol },
  { is: 'smtputf8_unsupported', enhanced: /^[45]\.6\.7$/, source: 'RFC 6531' },
  { is: 'content_rejected', enhanced: /^[45]\.6\.\d+$/, source: media },
  {
    is: 'blocked_unauthenticated_domain',
    enhanced: /^[45]\.7\.(2[0-4]|26|27|30|32|40|509|515)$/,
    source: `RFC 7372, RFC 7505, ${gmail}, ${exchange}`,
  },
  { is: 'recipient_rejects_external', enhanced: /^5\.7\.12$/, source: exchange },
  { is: 'tls_unavailable', enhanced: /^[45]\.7\.32\d$/, source: exchange },
  { is: 'blocked_rate', enhanced: /^5\.7\.(28|508)$/, source: `${gmail}, ${exchange}` },
  { is: 'content_rejected', enhanced: /^5\.7\.7$/, source: security },
  { is: 'greylisted', code: /^45[01]/, enhanced: /^4\.7\.1$/, source: 'RFC 6647' },
  { is: 'blocked_policy', enhanced: /^5\.7\.\d+$/, source: security },
  { is: 'temporary', code: /^4/, enhanced: /^4\.[23457]\.\d+$/, source: 'RFC 3463 §2' },
  { is: 'protocol_error', enhanced: /^5\.5\.[1245]$/, source: protocol },
  { is: 'temporary', code: /^(421|43\d|44\d|45\d|47\d)/, source: replies },
  { is: 'invalid_recipient_domain', code: /^(521|556)/, source: 'RFC 7504' },
  { is: 'protocol_error', code: /^(50[0-4]|555)/, source: replies },
  { is: 'blocked_spam', code: /^541/, source: 'seen of several filters' },
  { is: 'invalid_recipient', code: /^551/, source: replies },
]
