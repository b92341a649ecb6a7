/** Sent copies in a mailbox of Dovecot: what the scripted server takes, other people's takes as well. */
import { readFileSync } from 'node:fs'
import { createDovecot, type Dovecot, dovecotHindrance } from '@postrider/testkit/mail-servers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestTokens } from '../../../test/oauth.ts'
import { accept, drain, everyLease, keyRing, useSending } from '../../../test/sender.ts'
import { addMailer, sealPassword, silent } from '../../../test/sending.ts'
import { createEgress } from '../../platform/egress/index.ts'
import { newId } from '../../platform/ids.ts'
import { createSentCopyWorker } from './serve-copies.ts'

const hindrance = dovecotHindrance()
if (hindrance !== undefined) process.stderr.write(`SKIPPED, sent copies in Dovecot: ${hindrance}\n`)

const world = useSending()
const pem = (name: string) =>
  readFileSync(new URL(`../../../../testkit/certs/${name}`, import.meta.url), 'utf8')
const certificate = { key: pem('localhost.key'), cert: pem('localhost.pem') }
const users = { ada: 'secret' }
const cleanups: (() => Promise<unknown>)[] = []
let dovecot: Dovecot

beforeAll(async () => {
  if (hindrance !== undefined) return
  dovecot = await createDovecot({ users, certificate })
  cleanups.push(dovecot.destroy)
  await dovecot.start()
})
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

it.skipIf(hindrance !== undefined)(
  'stores a sent copy in Dovecot once, byte for byte, marked as read',
  async () => {
    const outcomes: string[] = []
    const egress = createEgress({ allowNetworks: ['127.0.0.0/8'] })
    const accessTokens = createTestTokens(world.db, egress)
    cleanups.push(egress.close, accessTokens.stop)
    const smtp = await world.serve(undefined, { auth: { users } })
    const key = { tenantId: 'tn_a', mailerId: newId('smtp') }
    await addMailer(world.db, {
      ...key,
      port: smtp.port,
      configType: 'smtp_imap',
      imap: { host: '127.0.0.1', port: dovecot.port, secure: 'None' },
      username: 'ada',
      secret: sealPassword(keyRing, key, 'secret'),
    })
    await accept(world.db, { subject: 'Grüße 🎉' })
    await drain(world.db, world.sender())
    const [sent] = smtp.messages

    const keep = async () => {
      await world.db.query(`update sending_sent_copy set due_at = now() - interval '1 ms'`)
      await createSentCopyWorker({
        db: world.db,
        log: silent,
        leases: everyLease,
        keyRing,
        egress,
        accessTokens,
        observe: (outcome) => outcomes.push(outcome),
      }).runOnce()
    }
    const { rows } = await world.db.query<{ row: string }>(
      'select row_to_json(c)::text as row from sending_sent_copy c',
    )
    await keep()
    // As when the commit had been lost.
    await world.db.query(
      'insert into sending_sent_copy select * from json_populate_record(null::sending_sent_copy, $1)',
      [rows[0]?.row],
    )
    await keep()
    expect(outcomes).toEqual(['saved', 'found'])
    const found = dovecot.doveadm([
      'fetch',
      '-u',
      'ada',
      'flags body hdr.message-id',
      'mailbox',
      'Sent',
    ])
    expect(found.match(/flags: \\Seen/g)).toHaveLength(1)
    const raw = dovecot.doveadm(['fetch', '-u', 'ada', 'text', 'mailbox', 'Sent'])
    expect(raw.replace(/^text:\n/, '').replace(/\r/g, '')).toBe(
      sent?.raw.toString().replace(/\r/g, ''),
    )
  },
)
