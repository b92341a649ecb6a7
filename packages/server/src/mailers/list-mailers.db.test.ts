/** listMailers over HTTP (docs/reference/http.md#lists). */
import { listMailersAnswer } from '@postrider/contract'
import { Check } from 'typebox/value'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createOAuthApi, type OAuthApi } from '../../test/oauth.ts'
import { addMailer } from '../../test/sending.ts'
import { newId } from '../platform/ids.ts'
import { type MailerError, noteErrors } from './index.ts'

let api: OAuthApi
beforeAll(async () => {
  api = await createOAuthApi()
})
afterAll(() => api.close())
beforeEach(async () => {
  await api.db.query('delete from mailers_mailer')
  await api.db.query('delete from mailers_error')
})

const list = (query = '', key = 'a') => api.call('GET', `/v1/mailers${query}`, undefined, key)
const at = (s: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, s))

async function note(...errors: (Partial<MailerError> & { mailerId: string })[]): Promise<void> {
  await api.db.transaction((tx) =>
    noteErrors(
      tx,
      errors.map((error) => ({
        tenantId: 'tn_a',
        category: 'network',
        at: at(0),
        failedReason: 'The connection to the mail server failed',
        providerError: 'connect ECONNREFUSED',
        refId: '01JD4M8W6ZQ3V5T7X9Y2A4C6E8',
        ...error,
      })),
    ),
  )
}

describe('GET /v1/mailers', () => {
  it('lists every mailer of the tenant, newest first, without secrets', async () => {
    const mailers = []
    for (const email of ['a@example.com', 'b@example.com'])
      mailers.push(await addMailer(api.db, { email }))
    // A mailbox that is fetched from alone has another prefix.
    const imap = await addMailer(api.db, { mailerId: newId('imap'), configType: 'imap' })
    await addMailer(api.db, { tenantId: 'tn_b' })
    const answer = await list()
    expect(answer.status).toBe(200)
    expect(Check(listMailersAnswer, answer.body)).toBe(true)
    expect(answer.body.mailers.map((one: { mailer_id: string }) => one.mailer_id)).toEqual(
      [...mailers, imap].map(({ mailerId }) => mailerId).toReversed(),
    )
    expect(answer.body.mailers[0]).toMatchObject({ state: 'active', limits: {}, last_errors: [] })
    expect(answer.body).not.toHaveProperty('nextPageToken')
  })

  it('pages through the mailers of one state', async () => {
    for (let i = 0; i < 5; i += 1) await addMailer(api.db)
    const seen: string[] = []
    let token = ''
    do {
      const { body } = await list(`?pageSize=2${token}`)
      seen.push(...body.mailers.map((one: { mailer_id: string }) => one.mailer_id))
      token = body.nextPageToken === undefined ? '' : `&pageToken=${body.nextPageToken}`
    } while (token !== '')
    expect(seen).toHaveLength(5)
    expect(seen).toEqual(seen.toSorted().toReversed())
    const [id] = seen
    await api.db.query(`update mailers_mailer set state = 'deactivated' where mailer_id = $1`, [id])
    expect((await list('?state=deactivated')).body.mailers).toMatchObject([{ mailer_id: id }])
  })

  it('shows the latest error of each kind, at most five, newest first', async () => {
    const { mailerId } = await addMailer(api.db)
    const kinds = ['network', 'temporary', 'auth_temporary', 'tls_certificate'] as const
    await note(...kinds.map((category, i) => ({ mailerId, category, at: at(i) })))
    await note({ mailerId, at: at(20), providerError: 'late' }, { mailerId, at: at(10) })
    await note({ mailerId, at: at(5), providerError: 'too late to count' })
    const more = ['host_not_found', 'relay_denied', 'protocol_error'] as const
    await note(...more.map((category, i) => ({ mailerId, category, at: at(30 + i) })))
    const [{ last_errors }] = (await list()).body.mailers
    expect(last_errors.map((one: { at: string }) => (Date.parse(one.at) / 1000) % 60)).toEqual([
      32, 31, 30, 20, 3,
    ])
    expect(last_errors[3]).toEqual({
      at: '2026-01-01T00:00:20.000Z',
      failed_reason: 'The connection to the mail server failed',
      provider_error: 'late',
      ref_id: '01JD4M8W6ZQ3V5T7X9Y2A4C6E8',
    })
  })

  it('shows no errors of recipients or messages, or of another tenant', async () => {
    const { mailerId } = await addMailer(api.db)
    const categories = ['invalid_recipient', 'content_rejected', 'expired', 'unknown'] as const
    await note(...categories.map((category) => ({ mailerId, category })))
    await note({ mailerId, tenantId: 'tn_b' })
    expect((await list()).body.mailers).toMatchObject([{ last_errors: [] }])
  })

  it('deletes the errors with the mailer', async () => {
    const { mailerId } = await addMailer(api.db)
    await note({ mailerId })
    expect((await api.call('DELETE', `/v1/smtp/${mailerId}`)).status).toBe(200)
    expect((await api.db.query('select 1 from mailers_error')).rows).toEqual([])
  })

  it('answers 400 to a token of another list, and to a page that is too large', async () => {
    for (const query of ['?pageToken=eA', '?pageSize=501', '?state=gone', '?x=1'])
      expect((await list(query)).status).toBe(400)
  })

  it('answers 401 without a key', async () => {
    expect((await list('', 'nobody')).status).toBe(401)
  })
})
