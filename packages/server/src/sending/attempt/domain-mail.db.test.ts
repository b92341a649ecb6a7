/**
 * Mail of sending domains, from acceptance to where it ends without a provider
 * (docs/reference/domains.md#relay-requests).
 */
import { afterEach, describe, expect, it } from 'vitest'
import { emptyTables } from '../../../test/empty-tables.ts'
import {
  accept,
  attemptsOf,
  drain,
  eventsOf,
  inShort,
  queueOf,
  recipientsOf,
  useSending,
} from '../../../test/sender.ts'
import { addDomainMailer, addMailer, cancelEmail, unsubscribe } from '../../../test/sending.ts'
import { deleteDomainMailer } from '../../mailers/index.ts'

const world = useSending()
afterEach(() => emptyTables(world.db, 'suppressions_address'))
const from = (email: string) => ({ from: { email } })

describe('an email of a domain', () => {
  it('[3.1] accepts an email for every address of a verified domain, without a message_id at first', async () => {
    const { mailerId } = await addDomainMailer(world.db)
    const refId = await accept(world.db, from('Anybody@example.com'))
    expect(await recipientsOf(world.db, refId)).toMatchObject([
      { status: 'queued', message_id: '' },
    ])
    const { rows } = await world.db.query('select mailer_id from sending_queue')
    expect(rows).toEqual([{ mailer_id: mailerId }])
  })

  it('refuses an email of another domain, and says when a domain is not verified', async () => {
    const { mailerId } = await addDomainMailer(world.db, { isVerified: false })
    const refused = (message: string) => ({ code: 'no_mailer', message })
    const unverified = refused('The domain is not verified')
    await expect(accept(world.db, from('a@example.com'))).rejects.toMatchObject(unverified)
    await expect(accept(world.db, { mailer_id: mailerId })).rejects.toMatchObject(unverified)
    await expect(accept(world.db, from('a@mail.example.com'))).rejects.toMatchObject({
      message: expect.stringContaining('No mailer for this sender: a@mail.example.com'),
    })
    await world.db.query('update mailers_mailer set domain_verified = true')
    const elsewhere = { ...from('a@mail.example.com'), mailer_id: mailerId }
    await expect(accept(world.db, elsewhere)).rejects.toMatchObject(
      refused('mailer_id names a domain that from.email does not belong to'),
    )
  })

  it('[3.2] keeps the mail of a deactivated domain until it expires', async () => {
    const { mailerId } = await addDomainMailer(world.db)
    const refId = await accept(world.db, { settings: { expires_in: '1s' } })
    await world.db.query(`update mailers_mailer set state = 'deactivated'`)
    const sender = world.sender()
    await sender.runOnce()
    expect(await queueOf(world.db)).toMatchObject([{ phase: 'waiting', attempt: 1 }])
    await world.db.query('update sending_queue set expires_at = now(), due_at = now()')
    await sender.runOnce()
    expect(await recipientsOf(world.db, refId)).toMatchObject([
      { status: 'expired', attempts: 1, message_id: '' },
    ])
    const [event] = await eventsOf(world.db)
    expect(event?.details).toMatchObject({ mailer_id: mailerId, message_id: '' })
  })

  it('[5] fails at the next attempt when the domain was deleted', async () => {
    const key = await addDomainMailer(world.db)
    const refId = await accept(world.db)
    await world.db.transaction((tx) => deleteDomainMailer(tx, key))
    await drain(world.db, world.sender())
    expect((await eventsOf(world.db)).map(inShort)).toEqual(['SMTP_ERROR 1 final'])
    expect(await attemptsOf(world.db, refId)).toMatchObject([{ category: 'mailer_config' }])
  })

  it('does not send an email that a rescue moved to a domain of another sender', async () => {
    const { mailerId } = await addDomainMailer(world.db, { domain: 'example.org' })
    await addMailer(world.db)
    const refId = await accept(world.db)
    await world.db.query('update sending_queue set mailer_id = $1', [mailerId])
    await drain(world.db, world.sender())
    expect(await attemptsOf(world.db, refId)).toMatchObject([
      {
        outcome: 'failed',
        category: 'sender_not_allowed',
        provider_error: 'news@example.com is not an address of example.org',
      },
    ])
  })

  it.each([
    ['before any provider took it', ''],
    ["in place of a provider's id", 'k7m2q9xd'],
  ])('gives an email a Message-ID when a rescue moves it to a mail server, %s', async (_, id) => {
    const server = await world.serve()
    await addDomainMailer(world.db)
    const refId = await accept(world.db)
    const { mailerId } = await addMailer(world.db, { port: server.port })
    await world.db.query('update sending_queue set mailer_id = $1', [mailerId])
    await world.db.query('update sending_recipient set message_id = $1', [id])
    await drain(world.db, world.sender())
    const messageId = `<${refId}.0@example.com>`
    expect(server.messages).toMatchObject([{ messageId }])
    const [event] = await eventsOf(world.db)
    expect(event).toMatchObject({ event: 'MAIL_DELIVERED', details: { message_id: messageId } })
    expect(await recipientsOf(world.db, refId)).toMatchObject([{ message_id: messageId }])
  })
})

describe('a recipient without a message', () => {
  const messageIdsOf = async (refId: string) =>
    (await recipientsOf(world.db, refId)).map((one) => [one.status, one.message_id])

  it('has no message_id when it was suppressed at acceptance', async () => {
    await addMailer(world.db)
    await unsubscribe(world.db, 'ada@example.com')
    expect(await messageIdsOf(await accept(world.db))).toEqual([['suppressed', '']])
  })

  it('has no message_id when it was suppressed before sending', async () => {
    await addMailer(world.db)
    const refId = await accept(world.db)
    await unsubscribe(world.db, 'ada@example.com')
    await drain(world.db, world.sender())
    expect(await messageIdsOf(refId)).toEqual([['suppressed', '']])
  })

  it('has no message_id when phishing protection stopped it', async () => {
    await addMailer(world.db)
    const refId = await accept(world.db)
    const check = async () => ({ kind: 'flagged', failedReason: 'bad' }) as const
    await drain(world.db, world.sender({ phishing: { check } }))
    expect(await messageIdsOf(refId)).toEqual([['blocked', '']])
  })

  it('has no message_id when it was cancelled', async () => {
    await addMailer(world.db)
    const refId = await accept(world.db)
    await cancelEmail(world.db, 'tn_a', refId)
    expect(await messageIdsOf(refId)).toEqual([['rejected', '']])
  })

  it('has no message_id when it expired before its first attempt', async () => {
    await addMailer(world.db)
    const refId = await accept(world.db)
    await world.db.query('update sending_queue set expires_at = now()')
    await drain(world.db, world.sender())
    expect(await messageIdsOf(refId)).toEqual([['expired', '']])
    const [event] = await eventsOf(world.db)
    expect(event?.details.message_id).toBe('')
  })

  it('has no message_id when its mailer was deleted', async () => {
    await addMailer(world.db)
    const refId = await accept(world.db)
    await world.db.query('delete from mailers_mailer')
    await drain(world.db, world.sender())
    expect(await messageIdsOf(refId)).toEqual([['failed', '']])
  })

  it('keeps the message_id of a message that was built, whatever its outcome', async () => {
    const server = await world.serve({ 'ada@example.com': ['450 4.2.0 later'] })
    await addMailer(world.db, { port: server.port })
    const refId = await accept(world.db)
    const messageId = `<${refId}.0@example.com>`
    expect(await messageIdsOf(refId)).toEqual([['queued', messageId]])
    await world.sender({ retryScheduleMs: [3_600_000] }).runOnce()
    expect(await messageIdsOf(refId)).toEqual([['deferred', messageId]])
    await unsubscribe(world.db, 'ada@example.com')
    await world.db.query('update sending_queue set due_at = now()')
    await drain(world.db, world.sender())
    expect(await messageIdsOf(refId)).toEqual([['suppressed', messageId]])
  })
})
