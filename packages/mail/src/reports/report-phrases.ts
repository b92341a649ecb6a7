/** The phrases by which reports in words are known: who writes them, and what they say happened. */

const BY_MACHINE =
  /^\s*"?(mail delivery (sub)?system|mail(er)?[-_. ]?(daemon|administrator)|delivery subsystem|system administrator|post[-_]?master)|<?\b(mailer-daemon|mail-daemon|post[-_]?master|mdaemon|bounces?|microsoftexchange[\da-f]{32})@/i
const SAYS_FAILURE =
  /undeliver|unzustellbar|non remis|no se pudo entregar|(?:не (?:было )?доставлено|не может быть доставлен|не удалось доставить)|退信|退回|无法投递|無法投遞|投递失败|未能送达|(?:nicht|konnte nicht) zugestellt|(?:n'a pas pu|ne peut) .{0,10}(?:remis|distribué|livré)|no (?:se ha podido|ha podido ser|pudo ser) entregad[oa]|non (?:è stato possibile (?:recapitare|consegnare)|è stato (?:recapitato|consegnato))|não (?:foi possível entregar|pôde ser entregue)|(?:mensaje|correo) no entregado|error al (?:intentar )?entregar|(?:mensagem|e-?mail) não entregue|falha na entrega|(?:mancat[oa] (?:consegna|recapito)|messaggio non (?:recapitato|consegnato))|onbestelbaar|niet (?:worden )?(?:afgeleverd|bezorgd)|niedostarczon|nie (?:dostarczono|można (?:było )?dostarczyć)|kunde inte levereras|kunne ikke leveres|nedoručiteln|nebyla? doručen|(?:teslim edile|ileti?le)medi|配信(?:不能|できません|エラー)|전송(?:에)? 실패|반송|delivery (has )?fail|delivery status notification(:| \() ?(fail|error)|(delivery )?failure (notice|report|notification)|mail (delivery )?failed|returned mail|(could|can|can't|cannot|did|was|were|has) ?n[o']?t (be |been )?(delivered|deliver|reach)|could ?n[o']t be delivered|(can't|cannot|couldn't|unable to|wasn't able to|weren't able to) (be )?deliver|wasn't delivered|did not reach|permanent (fatal )?error|failed permanently|aborted after|error (has )?occurred while attempting to deliver|(error|trouble) (sending|delivering) your (mail|message)|address(es)? (had|have) (permanent|failed|delivery problems)|because: user|; failed; [45]\.\d|^error: \w/im
const SAYS_DELAY =
  /warning: (message|could not send)|delivery (status notification(:| \() ?)?delay|(has|have) (not yet been delivered|been delayed)|message (is )?delayed|only a temporary failure|will (be retried|keep trying|continue to (try|be attempted)|retry)|still (being )?(tried|trying)|delivery attempts will continue|this is a warning\b|verz(ö|oe)ger|wird (weiter|erneut) versucht|(est|été) retardé|nouvelles tentatives|se ha retrasado|demorado|in ritardo|ritardat|foi adiad|延迟投递|投递延迟|将(?:继续|重新|再次)(?:尝试|投递)|稍后(?:重试|再试|再次)/i
const SAYS_FOR_GOOD =
  /(?<!\b(?:no|not|not a|without a?) )(?<!\bif [^.\n]{0,60})permanent|(?<!\bbefore )giving up|address(es)? failed|could not be delivered(?! (?:yet|so far|for|within|after|since|at)\b)|i'm not going to try/i

const OPENING_CHARS = 4_096
const SUBJECT_CHARS = 500
const FROM_CHARS = 500

/** @param from a `From` field, or an address alone */
export function isOfMachine(from: string): boolean {
  return BY_MACHINE.test(from.slice(0, FROM_CHARS))
}

/** Undefined: it says neither that a delivery failed nor that it is delayed. */
export function kindOfText(text: string): 'bounce' | 'deferral' | undefined {
  const opening = text.slice(0, OPENING_CHARS)
  if (SAYS_DELAY.test(opening) && !SAYS_FOR_GOOD.test(opening)) return 'deferral'
  return SAYS_FAILURE.test(opening) ? 'bounce' : undefined
}

/** A subject that says `delayed` is believed more than a text that does not say that it was given up. */
export function kindOfReport(
  text: string,
  ofSubject: 'bounce' | 'deferral' | undefined,
): 'bounce' | 'deferral' | undefined {
  const isGivenUp = SAYS_FOR_GOOD.test(text.slice(0, OPENING_CHARS))
  return ofSubject === 'deferral' && !isGivenUp ? ofSubject : (kindOfText(text) ?? ofSubject)
}

/** @param subject decoded */
export function kindOfSubject(subject: string): 'bounce' | 'deferral' | undefined {
  return kindOfText(subject.slice(0, SUBJECT_CHARS))
}
