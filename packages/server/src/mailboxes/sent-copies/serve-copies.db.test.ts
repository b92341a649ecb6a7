/** Copies of what was sent, in the Sent folders of mailboxes whose servers do not keep them. */
import { createImapServer, type ImapServer, type ImapServerOptions } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestTokens } from '../../../test/oauth.ts'
import { accept, drain, everyLease, keyRing, useSending } from '../../../test/sender.ts'
import { addMailer, sealPassword, silent } from '../../../test/sending.ts'
import type { AccessTokens } from '../../mailers/index.ts'
import { DatabaseUnavailableError, type Db } from '../../platform/db/index.ts'
import { createEgress, type Egress } from '../../platform/egress/index.ts'
import { newId } from '../../platform/ids.ts'
import { createSentCopyWorker, type SentCopyDeps, type SentCopyWorker } from './serve-copies.ts'

const world = useSending()
let box: ImapServer
let outcomes: string[]
const workers: SentCopyWorker[] = []
const boxes: ImapServer[] = []
let egress: Egress
let accessTokens: AccessTokens

beforeAll(() => {
  egress = createEgress({ allowNetworks: ['127.0.0.0/8'] })
  accessTokens = createTestTokens(world.db, egress)
})
afterAll(async () => {
  await accessTokens.stop()
  await egress.close()
})

beforeEach(async () => {
  outcomes = []
  box = await serve()
  box.account().addFolder('Sent', '\\Sent')
  await addMailbox()
})
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.stop()
  for (const server of boxes.splice(0)) await server.close()
})

async function serve(o?: ImapServerOptions): Promise<ImapServer> {
  const server = await createImapServer(o)
  boxes.push(server)
  return server
}

/** A mailbox that is sent by and fetched from. */
async function addMailbox(email = 'news@example.com'): Promise<void> {
  const key = { tenantId: 'tn_a', mailerId: newId('smtp') }
  const users = { 'ada@example.com': 'secret' }
  const smtp = await world.serve(undefined, { auth: { users } })
  await addMailer(world.db, {
    ...key,
    email,
    port: smtp.port,
    configType: 'smtp_imap',
    imap: { host: box.host, port: box.port, secure: 'None' },
    username: 'ada@example.com',
    secret: sealPassword(keyRing, key, 'secret'),
  })
}

function worker(o: Partial<SentCopyDeps> = {}): SentCopyWorker {
  const made = createSentCopyWorker({
    db: world.db,
    log: silent,
    leases: everyLease,
    keyRing,
    egress,
    accessTokens,
    observe: (outcome, count) => outcomes.push(...Array<string>(count).fill(outcome)),
    ...o,
  })
  workers.push(made)
  return made
}

/** Sends one, and has its copy due. */
async function send(change: Parameters<typeof accept>[1] = {}): Promise<string> {
  const refId = await accept(world.db, change)
  await drain(world.db, world.sender())
  await dueNow()
  return refId
}

const dueNow = () => world.db.query(`update sending_sent_copy set due_at = now() - interval '1 ms'`)
const idOf = (refId: string) => `<${refId}.0@example.com>`
const kept = (folder = 'Sent') =>
  (box.account().folders.get(folder)?.messages ?? []).map(
    ({ raw }) => /^Message-ID: (.*)$/m.exec(raw.toString())?.[1]?.trim() ?? '',
  )

const setState = (state: 'active' | 'deactivated') =>
  world.db.query('update mailers_mailer set state = $1', [state])

/** A database of which the first statement of this name fails. */
function failingOn(on: Db, name: string): Db {
  let isFailing = true
  return {
    ...on,
    transaction: (work, o) =>
      on.transaction(
        (tx) =>
          work({
            ...tx,
            query(s, values) {
              if (!isFailing || typeof s !== 'object' || s.name !== name) return tx.query(s, values)
              isFailing = false
              return Promise.reject(new DatabaseUnavailableError('away'))
            },
          }),
        o,
      ),
  }
}

async function copies(): Promise<{ tries: number; wait_s: number }[]> {
  const { rows } = await world.db.query<{ tries: number; wait_s: number }>(
    `select tries, round(extract(epoch from due_at - now()))::int as wait_s from sending_sent_copy`,
  )
  return rows
}

describe('a server that stores no sent copies', () => {
  it('gets each email appended once, marked as read, with the time of sending', async () => {
    const refIds = [await send(), await send({ subject: 'Another' })]
    await worker().runOnce()
    expect(kept().sort()).toEqual(refIds.map(idOf).sort())
    expect(outcomes).toEqual(['saved', 'saved'])
    expect(await copies()).toEqual([])
    expect(box.logins).toBe(1)
    const [message] = box.account().folders.get('Sent')?.messages ?? []
    expect([...(message?.flags ?? [])]).toEqual(['\\Seen'])
    expect(message?.raw.toString()).toContain('Hello Ada')
    const { rows } = await world.db.query<{ at: Date }>(
      `select delivered_at as at from sending_recipient where ref_id = $1`,
      [refIds[0]],
    )
    const seconds = (at: Date | undefined) => Math.floor((at?.getTime() ?? 0) / 1_000)
    expect(seconds(message?.internalDate)).toBe(seconds(rows[0]?.at))
    await worker().runOnce()
    expect(kept()).toHaveLength(2)
  })

  it('gets one copy of an email to many recipients', async () => {
    const to = ['ada', 'bob', 'cy'].map((name) => ({ email: `${name}@example.com` }))
    await send({ to })
    await worker().runOnce()
    expect(kept()).toHaveLength(1)
  })

  it('gets no copy before its time', async () => {
    await accept(world.db)
    await drain(world.db, world.sender())
    await worker().runOnce()
    expect(box.logins).toBe(0)
    expect(await copies()).toMatchObject([{ tries: 0 }])
  })

  it('[F1] gets no second copy when the commit after an append is lost', async () => {
    const refId = await send()
    const db = failingOn(world.db, 'sending.sent_copies.end')
    await worker({ db }).runOnce()
    expect(kept()).toEqual([idOf(refId)])
    expect(await copies()).toHaveLength(1)
    await dueNow()
    await worker().runOnce()
    expect(kept()).toEqual([idOf(refId)])
    expect(outcomes).toEqual(['found'])
    expect(await copies()).toEqual([])
  })

  it('[F1] gets no second copy when the answer to an append is lost', async () => {
    const refId = await send()
    box.setScript(({ command, n }) =>
      command === 'APPEND' && n === 1 ? { piecesMax: 0, ending: 'rst' } : undefined,
    )
    await worker().runOnce()
    expect(outcomes).toEqual(['waiting'])
    expect(await copies()).toMatchObject([{ tries: 1, wait_s: 60 }])
    await dueNow()
    await worker().runOnce()
    expect(kept()).toEqual([idOf(refId)])
  })

  it('[F2] gets one copy of each email from two workers', async () => {
    const refIds = await Promise.all(Array.from({ length: 6 }, () => accept(world.db)))
    await drain(world.db, world.sender())
    await dueNow()
    await Promise.all([worker().runOnce(), worker().runOnce()])
    expect(kept().sort()).toEqual(refIds.map(idOf).sort())
    expect(await copies()).toEqual([])
  })

  it('[F2] gets no record of a copy from a worker that has lost its claim', async () => {
    const refId = await send()
    const gate = Promise.withResolvers<void>()
    box.setScript(({ command }) => (command === 'APPEND' ? { after: gate.promise } : undefined))
    const late = worker().runOnce()
    await box.waitFor(({ count }) => count('APPEND') === 1)
    await world.db.query('update sending_sent_copy set fence = fence + 1')
    gate.resolve()
    await late
    expect(outcomes).toEqual([])
    expect(await copies()).toHaveLength(1)
    await dueNow()
    await worker().runOnce()
    expect(outcomes).toEqual(['found'])
    expect(kept()).toEqual([idOf(refId)])
  })

  it.each(['Sent Items', 'Gesendet', 'INBOX/Sent'])(
    'gets the copy into the folder %s',
    async (name) => {
      box.account().removeFolder('Sent')
      box.account().addFolder('Other')
      box.account().addFolder(name)
      const refId = await send()
      await worker().runOnce()
      expect(kept(name)).toEqual([idOf(refId)])
    },
  )

  it('gets the copy into the folder that it marks as \\Sent, whatever others are called', async () => {
    box.account().removeFolder('Sent')
    box.account().addFolder('Sent')
    box.account().addFolder('Gone out', '\\Sent')
    const refId = await send()
    await worker().runOnce()
    expect(kept('Gone out')).toEqual([idOf(refId)])
    expect(kept('Sent')).toEqual([])
  })

  it('gets a new folder where there is none', async () => {
    box.account().removeFolder('Sent')
    const refId = await send()
    await worker().runOnce()
    expect(kept('Sent')).toEqual([idOf(refId)])
    expect(box.count('SUBSCRIBE')).toBe(1)
  })
})

describe('a server that stores sent copies', () => {
  it('gets nothing appended when the copy is found', async () => {
    const refId = await send()
    box.deliver('Sent', `Subject: Hello\r\nMessage-ID: ${idOf(refId)}\r\n\r\nHello\r\n`)
    await worker().runOnce()
    expect(outcomes).toEqual(['found'])
    expect(box.count('APPEND')).toBe(0)
    expect(await copies()).toEqual([])
  })
})

describe('a sent copy that cannot be stored now', () => {
  it('[F3] is retried later each time, and then given up', async () => {
    await send()
    await box.close()
    const waits: number[] = []
    while ((await copies()).length > 0) {
      await dueNow()
      await worker().runOnce()
      waits.push(...(await copies()).map(({ wait_s }) => wait_s))
    }
    expect(waits).toEqual([60, 300, 1_800, 7_200, 21_600, 43_200, 86_400])
    expect(outcomes).toEqual([...waits.map(() => 'waiting'), 'given_up'])
  })

  it('is given up when its last try ended the process', async () => {
    await send()
    await world.db.query('update sending_sent_copy set tries = 8')
    await worker().runOnce()
    expect(outcomes).toEqual(['given_up'])
    expect(box.logins).toBe(0)
  })

  it.each([
    ['SEARCH', 'NO [SERVERBUG] Internal error'],
    ['SEARCH', 'fin'],
    ['SELECT', 'NO [SERVERBUG] Internal error'],
    ['LIST', 'BAD what'],
    ['APPEND', 'NO [OVERQUOTA] The mailbox is full'],
  ])('is retried when the answer to %s is %s', async (command, answer) => {
    await send()
    box.setScript((now) => (now.command.endsWith(command) ? answer : undefined))
    await worker().runOnce()
    expect(kept()).toEqual([])
    expect(outcomes).toEqual(['waiting'])
    box.setScript(undefined)
    await dueNow()
    await worker().runOnce()
    expect(kept()).toHaveLength(1)
  })

  it.each([
    ['LIST', 'imap_folders', '* LIST () "/" folder\r\n'.repeat(60_000)],
    ['SELECT', 'imap_line', `* FLAGS ${'('.repeat(50_000)}\r\n`],
    ['UID SEARCH', 'imap_search', `* SEARCH${' 4294967295'.repeat(60_000)}\r\n`],
  ])('[B12] is retried when the answer to %s breaks the bound %s', async (command, bound, bomb) => {
    const broken: string[] = []
    await send()
    box.setScript((now) => (now.command === command ? { before: bomb } : undefined))
    await worker({ onImapBound: (name) => broken.push(name) }).runOnce()
    expect(broken).toEqual([bound])
    expect(kept()).toEqual([])
    expect(outcomes).toEqual(['waiting'])
    box.setScript(undefined)
    await dueNow()
    await worker().runOnce()
    expect(kept()).toHaveLength(1)
  })

  it('counts no try when the session ended before it', async () => {
    await send()
    await send()
    box.setScript((now) => (now.command === 'APPEND' ? 'rst' : undefined))
    await worker().runOnce()
    expect((await copies()).map(({ tries }) => tries).sort()).toEqual([0, 1])
    expect(outcomes).toEqual(['waiting'])
  })

  it('waits without a try when memory is short', async () => {
    await addMailbox('bob@example.com')
    await accept(world.db, { from: { email: 'bob@example.com' } })
    await send()
    await world.db.query(`update sending_sent_copy set content_bytes = 20 << 20`)
    const gate = Promise.withResolvers<void>()
    box.setScript(({ command }) => (command === 'APPEND' ? { after: gate.promise } : undefined))
    const running = worker().runOnce()
    await box.waitFor(({ count }) => count('APPEND') === 1 && count('LOGOUT') === 1)
    gate.resolve()
    await running
    expect(outcomes).toEqual(['saved'])
    expect(await copies()).toMatchObject([{ tries: 0, wait_s: 5 }])
    await dueNow()
    await worker().runOnce()
    expect(kept()).toHaveLength(2)
  })

  it('waits without a try while its mailer is not active', async () => {
    const refId = await send()
    await setState('deactivated')
    await worker().runOnce()
    expect(box.logins).toBe(0)
    expect(await copies()).toMatchObject([{ tries: 0, wait_s: 300 }])
    await setState('active')
    await dueNow()
    await worker().runOnce()
    expect(kept()).toEqual([idOf(refId)])
  })

  it('is given up when its mailer was deleted', async () => {
    await send()
    await send()
    await world.db.query('delete from mailers_mailer')
    await worker().runOnce()
    expect(outcomes).toEqual(['gone', 'gone'])
    expect(await copies()).toEqual([])
  })

  it('is given up when its email was removed', async () => {
    await send()
    await world.db.query('delete from sending_email')
    await worker().runOnce()
    expect(outcomes).toEqual(['gone'])
    expect(await copies()).toEqual([])
  })
})

it('finds due copies by itself, and stops while a server hangs', async () => {
  await send()
  const gate = Promise.withResolvers<void>()
  box.setScript(({ command }) => (command === 'APPEND' ? { after: gate.promise } : undefined))
  const running = worker({ graceMs: 0 })
  await running.start()
  await box.waitFor(({ count }) => count('APPEND') === 1)
  await running.stop()
  expect(await copies()).toMatchObject([{ tries: 0 }])
  gate.resolve()
})
