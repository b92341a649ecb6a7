/** Mailboxes at a mail server that other people wrote: Dovecot. */
import { readFileSync } from 'node:fs'
import { createDovecot, type Dovecot, dovecotHindrance } from '@postrider/testkit/mail-servers'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createMailboxBench, type MailboxBench, mail, PASSWORD, USER } from './mailboxes.ts'

const pem = (name: string) =>
  readFileSync(new URL(`../../testkit/certs/${name}`, import.meta.url), 'utf8')
const hindrance = dovecotHindrance()
if (hindrance !== undefined) process.stderr.write(`not tested against Dovecot: ${hindrance}\n`)

describe.skipIf(hindrance !== undefined)('Dovecot', () => {
  let bench: MailboxBench
  let dovecot: Dovecot
  beforeAll(async () => {
    bench = await createMailboxBench()
  })
  beforeEach(async () => {
    dovecot = await createDovecot({
      users: { [USER]: PASSWORD },
      certificate: { key: pem('localhost.key'), cert: pem('localhost.pem') },
    })
    await dovecot.start()
  })
  afterEach(async () => {
    await bench.clear()
    await dovecot.destroy()
  })
  afterAll(() => bench.close())

  const add = (change: object = {}, more: object = {}) => {
    const config = {
      host: '127.0.0.1',
      port: dovecot.port,
      secure: 'Tls',
      tlsVerify: false,
      username: USER,
      ...change,
    } as const
    return bench.add({ config, ...more })
  }
  const subjects = async () =>
    (await bench.stored()).map(({ text }) => /Subject: (.*)\r/.exec(text)?.[1]).sort()
  const watched = (watchers: { counts(): { readonly watched: number } }) =>
    bench.until(
      async () => watchers.counts().watched,
      (n) => n === 1,
    )
  const append = (n: number | string, folder?: string) => dovecot.append(USER, mail(n), folder)

  it.each([
    ['STARTTLS', () => ({ port: dovecot.port, secure: 'Auto' })],
    ['TLS', () => ({ port: dovecot.tlsPort, secure: 'SSL' })],
  ])('reports arriving mail over %s, and marks nothing', async (_, change) => {
    append('old')
    await add(change(), { since: new Date(Date.now() + 2_000) })
    await watched(await bench.watch({ pollMs: 200 }))
    append(1)
    await bench.untilSubjects('mail 1')
    append(2)
    await bench.untilSubjects('mail 2')
    expect(await subjects()).toEqual(['mail 1', 'mail 2'])
    const flags = dovecot.doveadm(['fetch', '-u', USER, 'flags', 'mailbox', 'INBOX'])
    expect(flags).not.toContain('Seen')
  })

  it('reports mail in several folders, and moved mail once', async () => {
    dovecot.doveadm(['mailbox', 'create', '-u', USER, 'Été & Hiver'])
    await add({}, { folders: ['INBOX', 'Été & Hiver'] })
    await watched(await bench.watch({ pollMs: 50 }))
    append(1, 'Été & Hiver')
    append(2)
    await bench.untilSubjects('mail 1', 'mail 2')
    dovecot.doveadm(['move', '-u', USER, 'Été & Hiver', 'mailbox', 'INBOX', 'all'])
    append(3, 'Été & Hiver')
    await bench.untilSubjects('mail 3')
    expect(await subjects()).toEqual(['mail 1', 'mail 2', 'mail 3'])
  })

  it('loses no mail over a restart, and reports none twice', async () => {
    await add()
    const watchers = await bench.watch()
    await watched(watchers)
    append(1)
    await bench.untilSubjects('mail 1')
    await dovecot.stop()
    await bench.until(bench.events, (events) => events.length === 1)
    await dovecot.start()
    append(2)
    await bench.untilSubjects('mail 2')
    await watched(watchers)
    expect(await subjects()).toEqual(['mail 1', 'mail 2'])
    expect((await bench.events()).map(({ event }) => event)).toEqual(['IMAP_ERROR'])
  })

  it('[B2] reports mail once when a folder is made anew, under other numbers', async () => {
    dovecot.doveadm(['mailbox', 'create', '-u', USER, 'Archive'])
    await add({}, { folders: ['INBOX', 'Archive'] })
    await watched(await bench.watch({ pollMs: 50 }))
    for (const n of [1, 2]) append(n, 'Archive')
    await bench.untilSubjects('mail 1', 'mail 2')
    dovecot.doveadm(['mailbox', 'create', '-u', USER, 'Kept'])
    dovecot.doveadm(['copy', '-u', USER, 'Kept', 'mailbox', 'Archive', 'all'])
    dovecot.doveadm(['mailbox', 'delete', '-u', USER, 'Archive'])
    dovecot.doveadm(['mailbox', 'rename', '-u', USER, 'Kept', 'Archive'])
    append(3, 'Archive')
    await bench.untilSubjects('mail 3')
    expect(await subjects()).toEqual(['mail 1', 'mail 2', 'mail 3'])
  })

  it('rejects a wrong password, which deactivates the mailer', async () => {
    const mailerId = await add({ username: 'nobody@example.com' })
    await bench.watch()
    const events = await bench.until(bench.events, (found) => found.length > 0)
    expect(events).toMatchObject([
      {
        event: 'MAILER_DEACTIVATED',
        owner: mailerId,
        details: { provider_error: expect.stringContaining('[AUTHENTICATIONFAILED]') },
      },
    ])
  })
})
