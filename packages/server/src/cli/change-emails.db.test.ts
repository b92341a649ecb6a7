/** Operator commands that a running service carries out: `postrider email retry` and the like. */

import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createOperatedService } from '../../test/operated-service.ts'
import { accept, queueOf, recipientsOf, useSending } from '../../test/sender.ts'
import { addMailer } from '../../test/sending.ts'
import { runCli } from '../cli.ts'
import type { AuditedCall } from '../platform/http/act-for-tenant.ts'
import type { HttpApp } from '../platform/http/app.ts'
import { newUlid } from '../platform/ids.ts'

const world = useSending()
const TENANT = 'tn_01ARZ3NDEKTSV4RRFFQ69G5FAV'
const TOKEN = 'operator-token-of-tests'
const HOUR_MS = 3_600_000

let app: HttpApp
let url: string
let audited: AuditedCall[]
beforeEach(async () => {
  audited = []
  await world.db.query(
    `insert into tenants_tenant (tenant_id, name) values ($1, 'A') on conflict do nothing`,
    [TENANT],
  )
  app = createOperatedService(world.db, { tenantId: TENANT, token: TOKEN, audited })
  url = await app.listen({ host: '127.0.0.1', port: 0 })
})
afterEach(() => app.close())

async function run(args: readonly string[], env: Record<string, string> = {}) {
  let [out, err] = ['', '']
  const io = {
    env: { POSTRIDER_DATABASE_URL: world.url, POSTRIDER_ADMIN_TOKEN: TOKEN, ...env },
    out: (text: string) => (out += text),
    err: (text: string) => (err += text),
  }
  const code = await runCli(args, io)
  return { code, out, err, json: () => JSON.parse(out) }
}
const change = (...args: string[]) => run(['email', ...args, '--tenant', TENANT, '--url', url])
const statuses = async (refId: string) =>
  (await recipientsOf(world.db, refId)).map(({ status }) => status)
const to = Array.from({ length: 8 }, (_, i) => ({ email: `r${i}@example.com` }))

describe('email retry, cancel and rescue', () => {
  it('go through all that fit, however many calls that takes', async () => {
    const server = await world.serve(({ phase }) =>
      phase === 'rcpt' ? '451 4.3.0 busy' : undefined,
    )
    await addMailer(world.db, { tenantId: TENANT, port: server.port })
    const refId = await accept(world.db, { to }, TENANT)
    await world.sender({ retryScheduleMs: [HOUR_MS] }).runOnce()
    const dry = await change('retry', refId, '--dry-run')
    expect(dry).toMatchObject({ code: 0, out: '8 recipients fit, and nothing was changed\n' })
    const { email } = (await run(['email', 'show', refId, '--json'])).json()
    const [reason] = email.recipients.map((one: { failed_reason: string }) => one.failed_reason)
    for (const [sought, count] of [
      [reason, 8],
      ['The mailbox is full', 0],
    ])
      expect((await change('retry', '--reason', sought, '--dry-run')).out).toBe(
        `${count} recipients fit, and nothing was changed\n`,
      )
    const retried = await change('retry', refId.toLowerCase(), '--json')
    expect(retried.json()).toEqual({ matched: 8, changed: 8, is_complete: true })
    expect((await queueOf(world.db)).every(({ wait_s }) => wait_s <= 0)).toBe(true)
    const cancelled = await change('cancel', '--domain', 'example.com', '--status', 'deferred')
    expect(cancelled.out).toBe('Cancelled 8 of 8 recipients that fit\n')
    expect(new Set(await statuses(refId))).toEqual(new Set(['rejected']))
    const shown = (await run(['email', 'show', refId, '--json'])).json()
    for (const { cancelled, attempts } of shown.email.recipients) {
      expect(cancelled).toBe(true)
      expect(attempts).toMatchObject([{ retry_scheduled: false, next_attempt_at: null }])
    }
    expect((await run(['email', 'show', refId])).out).toContain('it was cancelled')
    expect((await change('rescue', '--all')).out).toBe('Rescued 0 of 0 recipients that fit\n')
    const operations = new Set(audited.map(({ operation, actor }) => `${actor} ${operation}`))
    expect([...operations].sort()).toEqual([
      'operator cancelEmails',
      'operator rescueEmails',
      'operator retryEmails',
    ])
  })

  it('change nothing without a choice, and say what the service refuses', async () => {
    await addMailer(world.db, { tenantId: TENANT })
    const refId = await accept(world.db, {}, TENANT)
    const unchosen = await change('cancel')
    expect(unchosen).toMatchObject({ code: 1, out: '' })
    expect(unchosen.err).toContain('Say which')
    expect((await change('cancel', '--to', 'nobody')).err).toContain('/filter/email')
    const byItself = await run(['email', 'cancel', refId, '--dry-run', '--url', url])
    expect(byItself).toMatchObject({ code: 0, out: '1 recipients fit, and nothing was changed\n' })
    const absent = await run(['email', 'cancel', newUlid(), '--url', url])
    expect(absent.err).toContain('There is no email')
    const unknown = ['email', 'cancel', refId, '--url', url, '--tenant', 'tn_x']
    expect((await run(unknown)).err).toContain('X-Postrider-Tenant')
    expect(await statuses(refId)).toEqual(['queued'])
  })

  it('say where no service answers, and that a token is missing', async () => {
    const args = ['email', 'cancel', '--all', '--tenant', TENANT]
    const nobody = await run([...args, '--url', 'http://127.0.0.1:9'])
    expect(nobody.code).toBe(1)
    expect(nobody.err).toContain('No service answers at http://127.0.0.1:9')
    const wrong = await run([...args, '--url', url], { POSTRIDER_ADMIN_TOKEN: 'x'.repeat(20) })
    expect(wrong.err).toContain('Unauthorized')
    expect(wrong.err).not.toContain(TOKEN)
  })
})

it('the commands that change something work as the page has them', async () => {
  const page = readFileSync(
    new URL('../../../../docs/operations/troubleshoot.md', import.meta.url),
    'utf8',
  )
  const step = page.slice(page.indexOf('4. Fix the cause.'), page.indexOf('## Mail is late'))
  const values: Record<string, string> = {
    REF_ID: '01JD4M8W6ZQ3V5T7X9Y2A4C6E8',
    TENANT_ID: TENANT,
  }
  const commands = [...step.matchAll(/^ *npx postrider (.*)$/gm)].map(([, args = '']) =>
    args.split(' ').map((word) => values[word] ?? word),
  )
  expect(commands).toHaveLength(3)
  for (const args of commands) {
    const { code, err } = await run([...args, '--url', url])
    expect({ args, code, err }).toEqual({ args, code: 0, err: '' })
  }
})

describe('email content', () => {
  it('shows the content of an email, of whichever tenant', async () => {
    await addMailer(world.db, { tenantId: TENANT })
    const refId = await accept(
      world.db,
      {
        subject: 'Hello\u202e',
        content: [{ type: 'text/plain', value: `first\n${'x'.repeat(2_000)}\u0007` }],
        attachments: [{ filename: 'a.pdf', content: 'YWJj' }],
      },
      TENANT,
    )
    const { code, out } = await run(['email', 'content', refId])
    expect(code).toBe(0)
    expect(out).toContain('subject  Hello\\u202e\n')
    expect(out).toContain('file     a.pdf (application/pdf, 3 bytes)\n')
    expect(out).toContain(`  ${'x'.repeat(2_000)}\\u0007`)
    const { json } = await run(['email', 'content', refId, '--json'])
    expect(json()).toMatchObject({ tenant_id: TENANT, content: { ref_id: refId } })
    expect((await run(['email', 'content', 'x'])).code).toBe(1)
  })
})

describe('mailer show, disable and activate', () => {
  it('show one mailer, and switch it in the service', async () => {
    const { mailerId } = await addMailer(world.db, { tenantId: TENANT })
    const shown = await run(['mailer', 'show', mailerId])
    expect(shown.out).toMatch(/^state +active$/m)
    const switched = (name: string) => run(['mailer', name, mailerId, '--url', url])
    expect((await switched('disable')).out).toBe('Mailer disabled\n')
    const { json } = await run(['mailer', 'show', mailerId, '--json'])
    expect(json()).toMatchObject({ mailer: { mailer_id: mailerId, state: 'disabled' } })
    expect((await switched('activate')).out).toBe('Mailer active\n')
    expect(audited).toMatchObject([
      { operation: 'setMailerActive', target: mailerId, tenantId: TENANT },
      { operation: 'setMailerActive' },
    ])
    expect((await run(['mailer', 'show', 'smtp_x'])).code).toBe(1)
    const unknown = ['mailer', 'disable', 'smtp_x', '--url', url]
    expect((await run(unknown)).err).toBe('There is no mailer smtp_x\n')
    const named = await run([...unknown, '--tenant', TENANT])
    expect(named.err).toContain('no such mailer')
  })
})
