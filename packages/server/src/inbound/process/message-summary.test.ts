import { describe, expect, it } from 'vitest'
import { summaryOf } from './message-summary.ts'

const from = { name: 'Ada', email: 'ada@sender.test' }
const found = { spf: { result: 'softfail' }, dkim: [], dmarc: { result: 'fail' } }
const signature = { domain: 'sender.test', selector: 's1' }

describe('the summary of a received message', () => {
  it('has who sent it, its subject and what its sender was checked for', () => {
    expect(summaryOf({ from, subject: 'Where is it?' }, found)).toEqual({
      from,
      subject: 'Where is it?',
      authentication: { spf: 'softfail', dkim: 'none', dmarc: 'fail' },
    })
    const nobody = { from: { name: '', email: '' }, subject: '' }
    expect(summaryOf(nobody, undefined)).toEqual({ from: null, subject: '', authentication: null })
  })

  it.each([
    ['fail', ['fail']],
    ['pass', ['fail', 'pass']],
    ['policy', ['fail', 'pass in part']],
    ['pass', ['pass in part', 'pass']],
  ])('calls DKIM %s where the signatures are %j', (dkim, results) => {
    const signatures = results.map((result) => ({
      ...signature,
      result: result.split(' ')[0] ?? '',
      ...(result.endsWith('part') && { partial: true as const }),
    }))
    const summary = summaryOf({ from, subject: '' }, { ...found, dkim: signatures })
    expect(summary.authentication?.dkim).toBe(dkim)
  })

  it('is bounded, and holds nothing that JSON in the database cannot', () => {
    const long = `\u0000\ud800${'x'.repeat(100_000)}`
    const summary = summaryOf({ from: { name: long, email: long }, subject: long }, found)
    expect(JSON.stringify(summary).length).toBeLessThan(2_000)
    expect(summary.subject).toMatch(/^\ufffd\ufffdxxx/)
    expect(summary.from?.name).toMatch(/^\ufffd\ufffdxxx/)
  })
})
