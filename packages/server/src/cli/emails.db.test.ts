/** `postrider email` and `postrider mailer list`: why a mail failed, told to a person at night. */
import { readFileSync } from 'node:fs'
import { beforeEach, describe, expect, it } from 'vitest'
import { accept, drain, useSending } from '../../test/sender.ts'
import { addMailer } from '../../test/sending.ts'
import { runCli } from '../cli.ts'
import { suppressAddress } from '../suppressions/index.ts'

const world = useSending()
const KEYS = `k:${Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64')}`
const page = readFileSync(
  new URL('../../../../docs/operations/troubleshoot.md', import.meta.url),
  'utf8',
)

beforeEach(async () => {
  await world.db.query(
    `insert into tenants_tenant (tenant_id, name) values ('tn_a', 'A'), ('tn_b', 'B')
     on conflict do nothing`,
  )
})

async function run(...args: string[]) {
  let [out, err] = ['', '']
  const env = {
    POSTRIDER_DATABASE_URL: world.url,
    POSTRIDER_SECRET_KEYS: KEYS,
    POSTRIDER_ALLOW_NETWORKS: '127.0.0.0/8',
  }
  const io = { env, out: (text: string) => (out += text), err: (text: string) => (err += text) }
  const code = await runCli(args, io)
  return { code, out, err, json: () => JSON.parse(out) }
}

/** An email to Ada that its server refuses for good. */
async function refused(reply = '550 5.1.1 no such user') {
  const server = await world.serve(({ phase }) => (phase === 'rcpt' ? reply : undefined))
  const { mailerId } = await addMailer(world.db, { port: server.port })
  const refId = await accept(world.db)
  await drain(world.db, world.sender())
  return { mailerId, refId }
}

describe('email show', () => {
  it('shows status, attempt, host, reply, events and advice', async () => {
    const { mailerId, refId } = await refused()
    const { code, out } = await run('email', 'show', refId)
    expect(code).toBe(0)
    expect(out).toMatch(/^tenant +tn_a$/m)
    expect(out).toContain(`${mailerId} (127.0.0.1, active)`)
    expect(out).toContain('ada@example.com (to): failed')
    expect(out).toMatch(
      /attempt 1 of 5 +20\S+Z +127\.0\.0\.1 +failed .*550 5\.1\.1 no such user.* \| invalid_recipient, by enhanced code: 5\.1\.1/,
    )
    expect(out).toMatch(/SMTP_ERROR +20/)
    expect(out).toContain('What to do: correct the address')
    expect(out.split('\n').length).toBeLessThan(25)
  })

  it('suggests another send where another address would not have helped', async () => {
    const { mailerId, refId } = await refused('554 5.7.1 Relay access denied')
    const { out } = await run('email', 'show', refId)
    expect(out).toContain(`postrider mailer test ${mailerId}`)
    expect(out).toContain('/v1/email/rescue')
  })

  it.each([
    ['550 5.7.1 blocked', 'ask whoever runs that server'],
    ['550 xyzzy', 'ask whoever runs that server'],
    ['552 5.2.2 mailbox is full', 'wait until the recipient takes mail again'],
    ['550 5.1.1 no such user', 'correct the address'],
  ])('does not blame the mailer for %s', async (reply, advice) => {
    const { refId } = await refused(reply)
    const { out } = await run('email', 'show', refId)
    expect(out).toContain(`What to do: `)
    expect(out).toContain(advice)
    expect(out).not.toContain('postrider mailer test')
  })

  it('says whether a bounced address is suppressed now, and how to lift that', async () => {
    await world.serve().then(({ port }) => addMailer(world.db, { port }))
    const refId = await accept(world.db, { to: [{ email: 'bob@example.com' }] })
    await drain(world.db, world.sender())
    await world.db.query(`update sending_recipient set status = 'bounced' where ref_id = $1`, [
      refId,
    ])
    const kept = await run('email', 'show', refId)
    expect(kept.out).toContain('The address is not suppressed')
    await suppressAddress(world.db, {
      tenantId: 'tn_a',
      address: 'bob@example.com',
      email: 'bob@example.com',
      reason: 'bounced',
      source: null,
    })
    const suppressed = await run('email', 'show', refId)
    expect(suppressed.out).toContain('DELETE /v1/suppressions/bob%40example.com')
  })

  it('repeats an argument that is neither a ref_id nor an address', async () => {
    const { code, err } = await run('email', 'show', 'no-such-thing')
    expect(code).toBe(1)
    expect(err).toContain('no-such-thing is neither a ref_id nor an address')
  })

  it('accepts a ref_id in lower case, and an address in any case', async () => {
    const { refId } = await refused()
    expect((await run('email', 'show', refId.toLowerCase())).code).toBe(0)
    expect((await run('email', 'show', 'ADA@example.com')).out).toContain(refId)
  })

  it('shows the latest email to an address, and lists earlier ones', async () => {
    const { refId: earlier } = await refused()
    const latest = await accept(world.db)
    const { out } = await run('email', 'show', 'ada@example.com')
    expect(out).toMatch(new RegExp(`^email +${latest}`))
    expect(out).toMatch(new RegExp(`Earlier emails to this address:\\n.*${earlier}.*failed`))
    const { email, logs, tenant_id } = (
      await run('email', 'show', 'ada@example.com', '--json')
    ).json()
    expect([email.ref_id, tenant_id]).toEqual([latest, 'tn_a'])
    expect(logs.map((log: { ref_id: string }) => log.ref_id)).toEqual([latest, earlier])
  })

  it('shows the time of the next attempt of a deferred mail', async () => {
    const server = await world.serve(({ phase }) =>
      phase === 'rcpt' ? '451 4.7.1 greylisted, try again later' : undefined,
    )
    await addMailer(world.db, { port: server.port })
    const refId = await accept(world.db)
    await world.sender({ retryScheduleMs: [600_000] }).runOnce()
    const { out } = await run('email', 'show', refId)
    expect(out).toContain('ada@example.com (to): deferred')
    expect(out).toMatch(/next attempt at 20\S+Z \(in \d+m\)/)
  })

  it('shows no control characters that a server has sent', async () => {
    const { refId } = await refused('550 5.1.1 \u001b[2J\u001b]0;title\u0007 gone')
    const shown = await run('email', 'show', refId)
    const listed = await run('email', 'list', '--failed')
    const mailers = await run('mailer', 'list')
    for (const { out } of [shown, listed, mailers]) expect(out).not.toContain('\u001b')
    expect(shown.out).toContain('gone')
  })

  it('ends with 1 for an unknown email, and for one of another tenant', async () => {
    const { refId } = await refused()
    for (const args of [
      ['01ARZ3NDEKTSV4RRFFQ69G5FAV'],
      ['nobody@example.com'],
      ['nonsense'],
      ['a@b@'],
      [refId, '--tenant', 'tn_b'],
      ['ada@example.com', '--tenant', 'tn_b'],
      [refId, '--tenant', 'tn_unknown'],
    ]) {
      const { code, out, err } = await run('email', 'show', ...args)
      expect({ args, code, out }).toEqual({ args, code: 1, out: '' })
      expect(err).not.toBe('')
    }
  })
})

describe('email list', () => {
  it('lists failed emails of all tenants, newest first', async () => {
    const { refId } = await refused()
    const delivered = await world.serve()
    await world.db.query('delete from mailers_mailer')
    await addMailer(world.db, { tenantId: 'tn_b', port: delivered.port })
    const fine = await accept(world.db, {}, 'tn_b')
    await drain(world.db, world.sender())
    const failed = await run('email', 'list', '--failed')
    expect(failed.out).toContain(refId)
    expect(failed.out).not.toContain(fine)
    const { logs } = (await run('email', 'list', '--json')).json()
    expect(logs).toMatchObject([
      { ref_id: fine, tenant_id: 'tn_b', status: 'delivered' },
      { ref_id: refId, tenant_id: 'tn_a', status: 'failed' },
    ])
    expect((await run('email', 'list', '--failed', '--tenant', 'tn_b')).out).toBe('No emails\n')
    expect((await run('email', 'list', '--failed', '--since', '1h')).out).toContain(refId)
    expect((await run('email', 'list', '--since', 'yesterday')).code).toBe(2)
  })
})

describe('mailer list', () => {
  it('shows state, queue and last error, with problems first', async () => {
    const fine = await addMailer(world.db, { email: 'fine@example.com' })
    const away = await addMailer(world.db, { port: 1 })
    await accept(world.db)
    await world.sender({ retryScheduleMs: [600_000] }).runOnce()
    const late = await addMailer(world.db, { email: 'late@example.com' })
    await accept(world.db, { from: { email: 'late@example.com' } })
    await world.db.query(
      `update sending_queue set due_at = now() - interval '5 minutes' where mailer_id = $1`,
      [late.mailerId],
    )
    const held = await addMailer(world.db, { email: 'held@example.com' })
    await accept(world.db, { from: { email: 'held@example.com' } })
    await world.db.query(
      `update mailers_mailer set state = 'deactivated', state_reason = 'provider_auth_error'
        where mailer_id = $1`,
      [held.mailerId],
    )
    const { code, out } = await run('mailer', 'list')
    expect(code).toBe(0)
    const ids = [...out.matchAll(/^(smtp_\w+) /gm)].map(([, id]) => id)
    expect(ids).toEqual([held, late, away, fine].map(({ mailerId }) => mailerId))
    expect(out).toMatch(/deactivated \(provider_auth_error\)/)
    expect(out).toMatch(new RegExp(`^${late.mailerId} .* 1 +0 +0 +5m +-$`, 'm'))
    expect(out).toMatch(new RegExp(`^${away.mailerId} .* 0 +1 +0 +- .*ago: .*ECONNREFUSED`, 'm'))
    expect(out).toContain(`postrider mailer test ${late.mailerId}`)
    const { mailers } = (await run('mailer', 'list', '--json', '--tenant', 'tn_a')).json()
    expect(mailers[2]).toMatchObject({
      mailer_id: away.mailerId,
      host: '127.0.0.1',
      queue: { due: 0, waiting: 1, held: 0, oldest_due_at: null },
    })
    expect((await run('mailer', 'list', '--tenant', 'tn_b')).out).toBe('No mailers\n')
  })

  it('says that the mail of a suspended tenant is held, and how it goes out', async () => {
    const { mailerId } = await addMailer(world.db)
    const refId = await accept(world.db)
    await world.db.query(`update sending_queue set due_at = now() - interval '5 minutes'`)
    const setState = (state: string) =>
      world.db.query(`update tenants_tenant set state = $1 where tenant_id = 'tn_a'`, [state])
    await setState('suspended')
    try {
      const { out } = await run('mailer', 'list')
      expect(out).toMatch(
        new RegExp(`^${mailerId} .* active, tenant suspended .* 0 +0 +1 +- +-$`, 'm'),
      )
      expect(out).toContain('postrider tenant activate tn_a')
      expect(out).not.toContain('postrider mailer test')
      const shown = await run('email', 'show', refId)
      expect(shown.out).toContain('postrider tenant activate tn_a')
    } finally {
      await setState('active')
    }
  })
})

it('the walk-through "Why did this mail fail?" works as it is written', async () => {
  const { mailerId, refId } = await refused()
  const walk = page.slice(
    page.indexOf('## Why did this mail fail?'),
    page.indexOf('4. Fix the cause.'),
  )
  const values: Record<string, string> = {
    ADDRESS: 'ada@example.com',
    REF_ID: refId,
    TENANT_ID: 'tn_a',
    MAILER_ID: mailerId,
  }
  const commands = [...walk.matchAll(/^ *npx postrider (.*)$/gm)].map(([, args = '']) =>
    args.split(' ').map((word) => values[word] ?? word),
  )
  expect(commands).toHaveLength(5)
  for (const args of commands) {
    const { code, out } = await run(...args)
    expect({ args, code }).toEqual({ args, code: 0 })
    expect(out).not.toBe('')
  }
})
