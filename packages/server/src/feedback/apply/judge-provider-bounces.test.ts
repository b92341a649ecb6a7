import { describe, expect, it } from 'vitest'
import type { MatchedReport } from './fact-store.ts'
import { judgeBounces } from './judge-provider-bounces.ts'

type Fact = MatchedReport['report']['fact']

const matched = (
  fact: Fact,
  relay: MatchedReport['report']['relay'] = 'sendgrid',
): MatchedReport => ({
  recipientKey: { refId: '01JABCDEFGHJKMNPQRSTVWXYZ0', n: 0 },
  atMicros: 0n,
  report: { tenantId: 'tn_1', relay, receivedAtMicros: 0n, fact },
})
const bounced = (fact: Partial<Fact>): Fact => ({
  kind: 'bounced',
  factId: '1',
  type: 'bounce',
  isHard: true,
  suppresses: 'bounced',
  email: 'cy@example.net',
  reason: '',
  raw: '',
  atMicros: undefined,
  ref: undefined,
  ...fact,
})
const judgeOne = async (fact: Fact, relay?: MatchedReport['report']['relay']) =>
  (await judgeBounces([matched(fact, relay)]))[0]?.report.fact

describe('[contract 7.4] bounces of relay providers', () => {
  it('are judged in pieces that let the event loop run', async () => {
    const replies = (n: number) =>
      Array.from({ length: n }, () => matched(bounced({ reason: '550 User unknown' })))
    let others = 0
    const count = () => {
      others += 1
      running = setImmediate(count)
    }
    let running = setImmediate(count)
    await judgeBounces(replies(200))
    clearImmediate(running)
    expect(others).toBeGreaterThanOrEqual(9)
  })

  it('are judged by the code and the words together', async () => {
    const vague = bounced({ reason: 'mailbox unavailable' })
    expect((await judgeOne(vague))?.suppresses).toBeUndefined()
    expect((await judgeOne({ ...vague, errorCode: '550' }))?.suppresses).toBe('bounced')
    expect(
      (await judgeOne({ ...vague, errorCode: '450', reason: '550 mailbox unavailable' }))
        ?.suppresses,
    ).toBe('bounced')
  })

  it('are judged by whether they are about the address', async () => {
    const reason = '550 5.1.1 <dan@example.net>: User unknown'
    expect((await judgeOne(bounced({ reason })))?.suppresses).toBeUndefined()
    expect((await judgeOne(bounced({ reason, email: 'dan@example.net' })))?.suppresses).toBe(
      'bounced',
    )
  })

  it.each([
    ['Bounced Address', '5.7.1', undefined],
    ['550 5.7.1 recipient address was suppressed', undefined, undefined],
    ['554 5.2.2 recipient address was suppressed', undefined, undefined],
    ['recipient address was suppressed', undefined, 'bounced'],
    ['Bounced Address', undefined, 'bounced'],
  ] as const)(
    'suppress an address on a list of the provider: %s (%s)',
    async (reason, status, suppresses) => {
      const classified = { category: 'invalid_recipient', by: 'words', evidence: 'listed' } as const
      const fact = bounced({ reason, classified, ...(status === undefined ? {} : { status }) })
      expect((await judgeOne(fact))?.suppresses).toBe(suppresses)
    },
  )

  it("keep the judgement of a mail server's bounce that was read before", async () => {
    const classified = {
      category: 'invalid_recipient',
      by: 'words',
      evidence: 'user unknown',
    } as const
    const fact = bounced({ classified, reason: '550 5.7.1 Blocked' })
    const report = { ...matched(fact), report: { ...matched(fact).report, relay: undefined } }
    expect((await judgeBounces([report]))[0]?.report.fact).toBe(fact)
  })
})
