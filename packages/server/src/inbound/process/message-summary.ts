/** What a list shows of a message that was read (docs/reference/events.md#incoming-email). Pure. */
import type { Authentication, ParsedMessage } from '@postrider/mail'
import type { MessageSummary } from '../messages/message-store.ts'

/** Of a subject, as an email of ours may have. */
const SUBJECT_CHARS_MAX = 998
const NAME_CHARS_MAX = 320

/** @param found undefined where nothing was authenticated */
export function summaryOf(
  { from, subject }: Pick<ParsedMessage, 'from' | 'subject'>,
  found: Pick<Authentication, 'spf' | 'dkim' | 'dmarc'> | undefined,
): MessageSummary {
  const [name, email] = [cut(from.name, NAME_CHARS_MAX), cut(from.email, NAME_CHARS_MAX)]
  return {
    from: name === '' && email === '' ? null : { name, email },
    subject: cut(subject, SUBJECT_CHARS_MAX),
    authentication: found === undefined ? null : resultsOf(found),
  }
}

function resultsOf({ spf, dkim, dmarc }: Pick<Authentication, 'spf' | 'dkim' | 'dmarc'>) {
  const passed = dkim.filter(({ result }) => result === 'pass')
  const isWhole = passed.some(({ partial }) => partial !== true)
  const best = passed.length === 0 ? dkim[0]?.result : isWhole ? 'pass' : 'policy'
  return { spf: spf.result, dkim: best ?? 'none', dmarc: dmarc.result }
}

/** A stranger's text may hold what a column of JSON does not. */
function cut(text: string, charsMax: number): string {
  return text.slice(0, charsMax).toWellFormed().replaceAll('\u0000', '\ufffd')
}
