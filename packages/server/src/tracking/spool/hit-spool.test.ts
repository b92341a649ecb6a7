import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { newId, newUlid } from '../../platform/ids.ts'
import type { Hit } from '../intake/hit.ts'
import { createHitSpool, type HitSpool, SpoolFullError } from './hit-spool.ts'

let root: string
let dir: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'postrider-spool-'))
  dir = join(root, 'hits')
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(root, { recursive: true, force: true })
})

const newHit = (): Hit => ({
  hitId: newUlid(),
  kind: 'click',
  tenantId: newId('tn'),
  refId: newUlid(),
  n: 1,
  link: 2,
  atMicros: 1_764_000_000_123_456n,
  ip: '203.0.113.9',
  userAgent: 'Ünlikely "agent"\n/1',
  purpose: '',
})

const take = async (spool: HitSpool) => (await spool.takeOwn()) ?? (await spool.takeLeft())

/** Everything that can be taken, by one that did not write it. */
async function takeAll(spool: HitSpool = createHitSpool({ dir })): Promise<Hit[]> {
  const hits: Hit[] = []
  for (let taken = await take(spool); taken !== undefined; taken = await take(spool)) {
    hits.push(...taken.hits)
    await taken.done()
  }
  return hits
}

/** What all open files share. */
async function spyOnFiles(method: 'datasync' | 'sync') {
  const handle = await open(join(root, 'any'), 'w')
  await handle.close()
  return vi.spyOn(Object.getPrototypeOf(handle) as typeof handle, method)
}

const ids = (hits: readonly Hit[]) => hits.map(({ hitId }) => hitId).sort()

describe('the spool of hits', () => {
  it('returns stored hits once, and leaves no file', async () => {
    const spool = createHitSpool({ dir })
    const hits = Array.from({ length: 50 }, newHit)
    await Promise.all(hits.map((hit) => spool.append(hit)))
    expect(spool.bytes).toBeGreaterThan(0)
    expect(await takeAll()).toEqual(hits)
    expect(await takeAll()).toEqual([])
    expect(readdirSync(dir)).toEqual([])
    await spool.close()
  })

  it('keeps a hit that arrives while another is being stored', async () => {
    const spool = createHitSpool({ dir })
    const hits = [newHit(), newHit()] as const
    await spool.append(hits[0])
    await spool.append(hits[1])
    expect(ids(await takeAll(spool))).toEqual(ids(hits))
    await spool.close()
  })

  it('has a hit in a private file before it answers', async () => {
    const spool = createHitSpool({ dir })
    const hit = newHit()
    await spool.append(hit)
    const [name = ''] = readdirSync(dir)
    expect(readFileSync(join(dir, name), 'utf8')).toContain(hit.hitId)
    await spool.close()
  })

  it.each([
    ['its bytes are flushed', 'datasync', 1],
    ['the name of the folder is flushed', 'sync', 1],
    ['the name of its file is flushed', 'sync', 2],
  ] as const)('answers when %s, and not before', async (_, method, nth) => {
    const flush = Promise.withResolvers<void>()
    const flushes = await spyOnFiles(method)
    for (let before = 1; before < nth; before++) flushes.mockResolvedValueOnce()
    flushes.mockReturnValueOnce(flush.promise)
    const spool = createHitSpool({ dir })
    let isTold = false
    const told = spool.append(newHit()).then(() => {
      isTold = true
    })
    await vi.waitFor(() => expect(flushes).toHaveBeenCalledTimes(nth))
    expect(isTold).toBe(false)
    flush.resolve()
    await told
    await spool.close()
  })

  it('leaves no file and no bytes when the directory cannot be flushed', async () => {
    const spool = createHitSpool({ dir })
    await spool.append(newHit())
    await takeAll(spool)
    const flushes = await spyOnFiles('sync')
    flushes.mockRejectedValueOnce(new Error('broken'))
    await expect(spool.append(newHit())).rejects.toThrow('broken')
    expect(readdirSync(dir)).toEqual([])
    expect(spool.oldestMs).toBe(0)
    const hit = newHit()
    await spool.append(hit)
    expect(await takeAll(spool)).toEqual([hit])
    await spool.close()
  })

  it('refuses more hits than may wait for a flush', async () => {
    const flush = Promise.withResolvers<void>()
    const flushes = await spyOnFiles('datasync')
    flushes.mockReturnValueOnce(flush.promise)
    const spool = createHitSpool({ dir, waitingMax: 2 })
    const first = spool.append(newHit())
    await vi.waitFor(() => expect(flushes).toHaveBeenCalled())
    const waiting = [spool.append(newHit()), spool.append(newHit())]
    await expect(spool.append(newHit())).rejects.toThrow(SpoolFullError)
    flush.resolve()
    await Promise.all([first, ...waiting])
    expect(await takeAll(spool)).toHaveLength(3)
    await spool.close()
  })

  it('reads its own files again only when there are many', async () => {
    const spool = createHitSpool({ dir, hitsKeptMax: 1 })
    const hits = Array.from({ length: 3 }, newHit)
    const [first, second, third] = hits as [Hit, Hit, Hit]
    await spool.append(first)
    const taken = await spool.takeOwn()
    expect(taken).toMatchObject({ hits: [first], isFresh: true })
    await taken?.done()
    await spool.append(second, { isTried: true })
    expect(await spool.takeOwn()).toMatchObject({ hits: [second], isFresh: false })
    await spool.append(third)
    expect(await spool.takeOwn()).toMatchObject({ hits: [third], isFresh: true })
    expect(spool.oldestMs).toBeGreaterThan(0)
    await spool.close()
  })

  it('loses no hit while files are taken from under the writer', async () => {
    const spool = createHitSpool({ dir })
    const taker = createHitSpool({ dir })
    const [hits, found]: [Hit[], Hit[]] = [[], []]
    for (let round = 0; round < 40; round++) {
      const some = Array.from({ length: 5 }, newHit)
      hits.push(...some)
      const [, taken] = await Promise.all([
        Promise.all(some.map((hit) => spool.append(hit))),
        taker.takeLeft(),
      ])
      found.push(...(taken?.hits ?? []))
      await taken?.done()
    }
    found.push(...(await takeAll(taker)))
    // Some twice, which is why a hit has an id.
    expect(ids([...new Map(found.map((hit) => [hit.hitId, hit])).values()])).toEqual(ids(hits))
    await spool.close()
  })

  it('writes hits again that went into a file which was taken before the flush', async () => {
    const spool = createHitSpool({ dir })
    await spool.append(newHit())
    expect(await takeAll()).toHaveLength(1)
    const hit = newHit()
    await spool.append(hit)
    expect(ids(await takeAll())).toEqual([hit.hitId])
    await spool.close()
  })

  it('skips a line that a crash has torn, and keeps a file with damaged lines', async () => {
    const spool = createHitSpool({ dir })
    const hit = newHit()
    await spool.append(hit)
    const [name = ''] = readdirSync(dir)
    appendFileSync(join(dir, name), '5f {"hitId":"x"}\n1a2b {"hitI')
    const taken = await createHitSpool({ dir }).takeLeft()
    expect(taken?.hits).toEqual([hit])
    expect(taken?.unreadable).toBe(1)
    await taken?.done()
    expect(readdirSync(dir)).toEqual([expect.stringMatching(/\.unreadable$/)])
    expect(await takeAll(createHitSpool({ dir, takenForMs: 0 }))).toEqual([])
    await spool.close()
  })

  it('offers a file again that was taken and not finished, after a while', async () => {
    const spool = createHitSpool({ dir })
    await spool.append(newHit())
    await spool.close()
    expect((await createHitSpool({ dir }).takeLeft())?.hits).toHaveLength(1)
    expect(await takeAll()).toHaveLength(0)
    expect(await takeAll(createHitSpool({ dir, takenForMs: 0 }))).toHaveLength(1)
  })

  it('sets aside hits that the database refused', async () => {
    const spool = createHitSpool({ dir })
    const hits = [newHit(), newHit()]
    await Promise.all(hits.map((hit) => spool.append(hit)))
    const taken = await take(spool)
    await taken?.done(hits.slice(1))
    expect(await takeAll(createHitSpool({ dir, takenForMs: 0 }))).toEqual([])
    const [name = ''] = readdirSync(dir)
    expect(name).toMatch(/\.refused$/)
    expect(readFileSync(join(dir, name), 'utf8')).toContain(hits[1]?.hitId)
    await spool.close()
  })

  it('refuses hits beyond its bound, and accepts more after some were taken', async () => {
    const spool = createHitSpool({ dir, bytesMax: 1 })
    await spool.append(newHit())
    await expect(spool.append(newHit())).rejects.toThrow(SpoolFullError)
    await takeAll(spool)
    await spool.append(newHit())
    // Another process takes it, which this one sees when it looks for files itself.
    await takeAll()
    expect(await take(spool)).toBeUndefined()
    expect(spool.bytes).toBe(0)
    await spool.close()
  })

  it('keeps its count while its directory cannot be read', async () => {
    const spool = createHitSpool({ dir })
    const hit = newHit()
    await spool.append(hit)
    const bytes = spool.bytes
    renameSync(dir, `${dir}-away`)
    writeFileSync(dir, 'a file where the folder should be')
    await expect(spool.takeLeft()).rejects.toThrow('ENOTDIR')
    expect(spool.bytes).toBe(bytes)
    expect(spool.oldestMs).toBeGreaterThan(0)
    rmSync(dir)
    renameSync(`${dir}-away`, dir)
    expect(await takeAll(spool)).toEqual([hit])
    expect(spool.bytes).toBe(0)
    await spool.close()
  })

  it('stores deferred hits in separate files, also when it is full', async () => {
    const spool = createHitSpool({ dir, bytesMax: 1 })
    const hits = [newHit(), newHit()]
    await spool.append(hits[0] as Hit)
    const taken = await spool.takeOwn()
    await spool.putOff(hits)
    await taken?.done()
    expect(await spool.takeOwn()).toBeUndefined()
    expect(ids(await takeAll(createHitSpool({ dir })))).toEqual(ids(hits))
    await spool.putOff(hits)
    const again = await spool.takePutOff()
    expect(again).toMatchObject({ hits, isFresh: false })
    await again?.done()
    expect(readdirSync(dir)).toEqual([])
    await spool.close()
  })

  it('begins another file when one is large', async () => {
    const spool = createHitSpool({ dir })
    const hits = Array.from({ length: 6 }, () => ({ ...newHit(), userAgent: 'x'.repeat(1 << 20) }))
    for (const hit of hits) await spool.append(hit)
    expect(readdirSync(dir)).toHaveLength(2)
    expect(ids(await takeAll(spool))).toEqual(ids(hits))
    await spool.close()
  })

  it('leaves no file behind for hits that a full disk refuses', async () => {
    const spool = createHitSpool({ dir })
    await spool.append(newHit())
    const handle = await open(join(root, 'any'), 'w')
    const full = vi
      .spyOn(Object.getPrototypeOf(handle), 'write')
      .mockRejectedValue(new Error('full'))
    for (let i = 0; i < 3; i++) await expect(spool.append(newHit())).rejects.toThrow('full')
    full.mockRestore()
    await handle.close()
    expect(readdirSync(dir)).toHaveLength(1)
    expect(await takeAll(spool)).toHaveLength(1)
    await spool.close()
  })

  it('rejects while nothing can be written, and works again afterwards', async () => {
    appendFileSync(dir, 'a file where the folder should be')
    const spool = createHitSpool({ dir })
    await expect(spool.append(newHit())).rejects.toThrow()
    rmSync(dir)
    await spool.append(newHit())
    expect(await takeAll(spool)).toHaveLength(1)
    await spool.close()
  })
})
