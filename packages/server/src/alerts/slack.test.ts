import { type Alert, alertKinds } from '@postrider/contract'
import { describe, expect, it } from 'vitest'
import { isSlack, toSlack } from './slack.ts'

interface Text {
  readonly type: string
  readonly text: string
  readonly emoji?: boolean
}
interface Block {
  readonly type: string
  readonly text?: Text
  readonly fields?: readonly Text[]
  readonly elements?: readonly Text[]
}

/** What a message breaks of the limits that Slack documents for incoming webhooks and for these blocks. */
function flawsOf(message: object): string[] {
  const { text, blocks, ...rest } = message as { text: string; blocks: readonly Block[] }
  const flaws = Object.keys(rest).map((name) => `unknown ${name}`)
  const check = (isSound: boolean, flaw: string) => void (isSound || flaws.push(flaw))
  const checkText = (one: Text | undefined, max: number, what: string) => {
    check(one?.type === 'plain_text', `${what} is no plain_text`)
    check((one?.text.length ?? 0) >= 1, `${what} is empty`)
    check((one?.text.length ?? 0) <= max, `${what} is longer than ${max}`)
    check(one?.text.isWellFormed() === true, `${what} is no text`)
    check(
      Object.keys(one ?? {}).every((name) => ['type', 'text', 'emoji'].includes(name)),
      `${what} has unknown fields`,
    )
  }
  check(text.length >= 1 && text.length <= 4_000, 'text has a wrong length')
  check(!/[<>]|&(?!amp;|lt;|gt;)/.test(text), 'text is not escaped')
  check(blocks.length >= 1 && blocks.length <= 50, 'too many blocks')
  for (const block of blocks) {
    if (block.type === 'header') checkText(block.text, 150, 'header')
    else if (block.type === 'section') {
      check((block.fields?.length ?? 0) >= 1, 'a section without fields')
      check((block.fields?.length ?? 0) <= 10, 'more than 10 fields')
      for (const field of block.fields ?? []) checkText(field, 2_000, 'field')
    } else if (block.type === 'context') {
      check((block.elements?.length ?? 0) <= 10, 'more than 10 elements')
      for (const element of block.elements ?? []) checkText(element, 2_000, 'element')
    } else flaws.push(`a block of type ${block.type}`)
  }
  return flaws
}

const alertOf = (change: Partial<Alert> = {}): Alert => ({
  ...{ alert: 'mailer_failing', state: 'begun', subject: 'smtp_1', at: '2026-11-20T13:00:00.000Z' },
  details: { tenant_id: 'tn_a', provider_error: '421 4.3.2 busy' },
  ...change,
})

describe('[contract 11] an alert for Slack', () => {
  it.each(alertKinds.flatMap((alert) => [alert, alert]))(
    'is a message within its limits: %s',
    (alert) => {
      for (const state of ['begun', 'over'] as const)
        expect(flawsOf(toSlack(alertOf({ alert, state })))).toEqual([])
    },
  )

  it('says what, of whom, and what the server said', () => {
    const text = JSON.stringify(toSlack(alertOf()))
    for (const part of ['Mailer fails', 'smtp_1', '421 4.3.2 busy', 'tn_a', '13:00:00'])
      expect(text).toContain(part)
    expect(JSON.stringify(toSlack(alertOf({ state: 'over' })))).toContain('Over: Mailer fails')
  })

  it('stays within its limits whatever others have written, and mentions nobody', () => {
    const long = '<!channel> & *x* 😀'.repeat(2_000)
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`f${i}`, long]))
    for (const details of [many, { a: '\ud800', b: [1, { c: null }], d: '', e: undefined }, {}])
      expect(flawsOf(toSlack(alertOf({ subject: long, details })))).toEqual([])
    expect(flawsOf({ text: '<!channel>', blocks: [{ type: 'section' }] })).toHaveLength(2)
  })

  it.each([
    ['https://hooks.slack.com/services/T0/B0/x', true],
    ['https://hooks.slack-gov.com/services/T0/B0/x', true],
    ['https://hooks.slack.com.example.com/services/T0', false],
    ['https://example.com/hooks.slack.com', false],
  ])('is for the hosts of Slack alone: %s', (url, isFor) => {
    expect(isSlack(new URL(url))).toBe(isFor)
  })
})
