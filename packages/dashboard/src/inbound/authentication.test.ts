import { describe, expect, it } from 'vitest'
import { authenticationOf, type ReceivedMail } from './authentication.ts'

const found = (o: Partial<Pick<ReceivedMail, 'spf' | 'dkim' | 'dmarc' | 'arc'>>) =>
  authenticationOf({
    ...{ spf: { result: 'none' }, dkim: [], dmarc: { result: 'none' } },
    ...o,
  } as ReceivedMail)

describe('authenticationOf', () => {
  it('has a row for each signature, and one that says that there is none', () => {
    const dkim = [
      { result: 'pass', domain: 'a.test', selector: 'one' },
      { result: 'fail', domain: 'b.test', selector: 'two' },
    ]
    expect(found({ dkim }).map(({ method, tone }) => [method, tone])).toEqual([
      ['SPF', 'muted'],
      ['DKIM', 'good'],
      ['DKIM', 'bad'],
      ['DMARC', 'muted'],
    ])
    expect(found({})[1]).toMatchObject({ method: 'DKIM', result: 'none', domain: undefined })
  })

  it('takes a signature over a part of the body for no full proof', () => {
    const dkim = [{ result: 'pass', domain: 'a.test', selector: 'one', partial: true as const }]
    expect(found({ dkim })[1]).toMatchObject({ tone: 'warn', isPartial: true })
  })

  it('warns of what could not be decided, and shows a chain where there is one', () => {
    const rows = found({ spf: { result: 'softfail' }, arc: { result: 'pass' } })
    expect(rows[0]).toMatchObject({ method: 'SPF', tone: 'warn' })
    expect(rows.at(-1)).toMatchObject({ method: 'ARC', tone: 'good' })
  })

  it('shows texts only where they are texts', () => {
    const [spf] = found({ spf: { result: 'pass', domain: 7, explanation: '' } })
    expect(spf).toMatchObject({ domain: undefined, explanation: undefined })
  })
})
