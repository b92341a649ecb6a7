/**
 * Whether a machine has answered in somebody's name (RFC 3834): out of office, received your request.
 * Reports on deliveries are none, nor is what lists and newsletters send. `X-Auto-Response-Suppress`
 * alone says only that the sender wants no such answer.
 */
import { headerOf } from './header-values.ts'
import type { MessageHeader } from './parsed-message.ts'

/** Present in automatic answers only, whatever they say but "no". */
const OF_RESPONDERS = [
  'x-autoreply',
  'x-auto-reply',
  'x-autoreply-from',
  'x-auto-reply-from',
  'x-autorespond',
  'x-autoresponse',
  'x-autoresponder',
  'x-mail-autoreply',
]
const SUBJECT =
  /^(auto(matic|mated)?[ -]?(reply|response|answer)|auto:|out of (the )?office|automatische (antwort|beantwoording)|abwesenheit|réponse automatique|respuesta automática|risposta automatica|resposta automática|autosvar|автоответ|自动回复|自動返信)/i
const WORDS_CHARS_MAX = 200

export function isAutoReply(
  headers: readonly MessageHeader[],
  { subject, isReport }: { readonly subject: string; readonly isReport: boolean },
): boolean {
  if (isReport) return false
  const word = (name: string) => wordOf(headerOf(headers, name))
  const submitted = word('auto-submitted')
  if (submitted !== '') return submitted !== 'no'
  if (OF_RESPONDERS.some((name) => !['', 'no', 'false', '0'].includes(word(name)))) return true
  const precedence = word('precedence')
  if (precedence === 'auto_reply' || precedence === 'auto-reply') return true
  if (isOfList(headers)) return false
  // Each alone is of many another message.
  const looksLikeOne = SUBJECT.test(subject.slice(0, WORDS_CHARS_MAX))
  const hasNoSender = headerOf(headers, 'return-path').trim() === '<>'
  const isBulk = precedence === 'bulk' || precedence === 'junk'
  const isSuppressing = word('x-auto-response-suppress') !== ''
  return hasNoSender || (looksLikeOne && (isBulk || isSuppressing))
}

function isOfList(headers: readonly MessageHeader[]): boolean {
  return ['list-id', 'list-unsubscribe', 'list-post'].some((name) => headerOf(headers, name) !== '')
}

/** Without comments and parameters. */
function wordOf(value: string): string {
  const [word = ''] = value
    .slice(0, WORDS_CHARS_MAX)
    .trim()
    .toLowerCase()
    .split(/[\s;(,]/, 1)
  return word
}
