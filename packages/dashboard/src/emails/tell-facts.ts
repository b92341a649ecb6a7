/** What is worth knowing beside the status of a recipient. */
import type { EmailLog } from '@postrider/client'
import type { Format } from '../words/format.ts'
import type { words } from './words.ts'

export function tellFacts(
  { status, failed_reason, opens, clicks }: EmailLog,
  text: (typeof words)['en'],
  format: Format,
): string {
  if (failed_reason !== '' && status !== 'delivered' && status !== 'sent') return failed_reason
  const facts = [
    ...(opens > 0 ? [text.openedTimes(opens)] : []),
    ...(clicks > 0 ? [text.clickedTimes(clicks)] : []),
  ]
  return new Intl.ListFormat(format.locale, { type: 'unit' }).format(facts)
}
