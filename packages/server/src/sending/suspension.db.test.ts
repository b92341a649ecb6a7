/** Mail of a tenant that is suspended (docs/reference/operator.md#suspension). */
import { afterEach, describe, expect, it } from 'vitest'
import { accept, eventsOf, inShort, queueOf, useSending } from '../../test/sender.ts'
import { addMailer } from '../../test/sending.ts'
import { findInactive } from '../mailers/index.ts'
import { measureQueue } from './queue-watch/measure-queue.ts'
import { countQueued } from './queue-watch/tenant-store.ts'

const world = useSending()

async function setState(state: 'active' | 'suspended' | 'deleting', tenantId = 'tn_a') {
  await world.db.query(
    `insert into tenants_tenant (tenant_id, name, state) values ($1, 'Acme', $2)
     on conflict (tenant_id) do update set state = $2, state_changed_at = now()`,
    [tenantId, state],
  )
}
afterEach(() => world.db.query('delete from tenants_tenant'))

async function fences(): Promise<string[]> {
  const { rows } = await world.db.query<{ fence: string }>('select fence from sending_queue')
  return rows.map(({ fence }) => fence)
}

/** Mail of a tenant that was suspended, which a sender has found out. */
async function held(n: number) {
  const server = await world.serve()
  const { mailerId } = await addMailer(world.db, { port: server.port })
  for (let i = 0; i < n; i += 1) await accept(world.db)
  await setState('suspended')
  const sender = world.sender()
  await sender.runOnce()
  return { server, mailerId, sender }
}

const shorts = async () => (await eventsOf(world.db)).map(inShort)

describe('the waiting mail of a suspended tenant', () => {
  it('is neither claimed nor sent', async () => {
    const { server, sender } = await held(3)
    await sender.runOnce()
    expect(await fences()).toEqual(['0', '0', '0'])
    expect(server.connections).toEqual([])
    expect(sender.counts()).toMatchObject({ inactive: 1 })
  })

  it('goes out once the tenant is active, also by a process that is not notified', async () => {
    const { server, sender } = await held(3)
    await setState('active')
    await sender.runOnce()
    expect(server.accepted).toBe(3)
    expect(await shorts()).toEqual(['MAIL_DELIVERED', 'MAIL_DELIVERED', 'MAIL_DELIVERED'])
  })

  it('expires', async () => {
    const { sender } = await held(1)
    await world.db.query(`update sending_queue set expires_at = now() - interval '1 s'`)
    await sender.runOnce()
    expect(await shorts()).toEqual(['SMTP_ERROR 1 final'])
  })

  it('does not fail when its mailer is deleted meanwhile', async () => {
    const { sender } = await held(1)
    await world.db.query('delete from mailers_mailer')
    await sender.runOnce()
    expect(await queueOf(world.db)).toMatchObject([{ phase: 'waiting', attempt: 1 }])
  })

  it('counts as held in logs and in figures, and that of others does not', async () => {
    const { mailerId } = await held(2)
    const other = await addMailer(world.db, { tenantId: 'tn_b', port: 9 })
    await accept(world.db, {}, 'tn_b')
    expect(await findInactive(world.db, 'tn_a')).toEqual([mailerId])
    expect(await findInactive(world.db, 'tn_b')).toEqual([])
    expect(other.mailerId).not.toBe(mailerId)
    const everyBucket = Array.from({ length: 64 }, (_, i) => i)
    const figures = await world.db.transaction((tx) => measureQueue(tx, everyBucket))
    expect(figures).toMatchObject({ held: 2, due: 1 })
    expect(await countQueued(world.db, ['tn_a'], 100)).toEqual(new Map([['tn_a', 2]]))
    expect(await countQueued(world.db, ['tn_a'], 1)).toEqual(new Map([['tn_a', 1]]))
  })
})

describe('a suspended tenant', () => {
  it('cannot send, and another one can', async () => {
    await addMailer(world.db, { port: 9 })
    await addMailer(world.db, { tenantId: 'tn_b', port: 9 })
    await setState('suspended')
    await expect(accept(world.db)).rejects.toMatchObject({ code: 'tenant_suspended', status: 403 })
    await accept(world.db, {}, 'tn_b')
    expect(await countQueued(world.db, ['tn_a'], 9)).toEqual(new Map([['tn_a', 0]]))
    expect(await countQueued(world.db, ['tn_b'], 9)).toEqual(new Map([['tn_b', 1]]))
  })

  it('that is being deleted has no key any more', async () => {
    await addMailer(world.db, { port: 9 })
    await setState('deleting')
    await expect(accept(world.db)).rejects.toMatchObject({ code: 'unauthorized', status: 401 })
  })
})
