/**
 * HTML attachments, which are checked for phishing in threads. Mails of one tenant with large attachments
 * wait for the check; a small mail of another tenant is sent behind them. Each mail ends in one event:
 * some are blocked, because their attachment holds more than is checked.
 */
import { createSending } from './create-sending.ts'
import { type Door, type DoorDeps, KIB } from './door.ts'

const BYTES = 3_500 * KIB
const UNITS = [
  '<a href="https://a.example/">b</a>',
  '<p>&amp;',
  '<form action=x><input>',
  '<div><table><tr><td>',
  '<!--a--><br>',
  '<img alt=a src=b>',
]
const LARGE = 12
const FROM = 'news@sender.test'

export async function openAttachmentDoors(deps: DoorDeps): Promise<readonly Door[]> {
  const [large, small] = await Promise.all([createSending(deps), createSending(deps)])
  await Promise.all([large.addMailer(FROM), small.addMailer(FROM)])
  return [
    {
      name: 'HTML that is attached',
      inputs: () =>
        Array.from({ length: LARGE }, (_, i) => {
          const unit = UNITS[i % UNITS.length] ?? ''
          return {
            kind: 'attached HTML',
            name: `${i}: ${unit}`,
            text: unit.repeat(BYTES / unit.length),
          }
        }),
      async enter(text) {
        const content = Buffer.from(text).toString('base64')
        const attachments = [{ filename: 'a.html', type: 'text/html', content }]
        return large.send(FROM, { value: 'a', more: { attachments } })
      },
      async settle() {
        await small.send(FROM, { value: 'a' })
        await small.smtp.waitForMessages(1)
        await large.settle()
      },
    },
  ]
}
