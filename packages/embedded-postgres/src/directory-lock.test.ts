import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { lockDirectory } from './directory-lock.ts'
import { identifySelf } from './process-identity.ts'

let dir: string

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'postrider-lock-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

const path = () => join(dir, 'lock')
const hold = (holder: object) => writeFileSync(path(), JSON.stringify(holder))

it('belongs to one process at a time, and can be taken after its release', async () => {
  const lock = await lockDirectory(dir)
  await expect(lockDirectory(dir)).rejects.toThrow(`in use by process ${process.pid}`)
  lock.release()
  const again = await lockDirectory(dir)
  again.release()
})

it('is taken over from a dead process, and from a pid that another process has now', async () => {
  for (const gone of [{ pid: 4_194_305 }, { startedAt: '1' }]) {
    hold({ ...identifySelf(), ...gone })
    const lock = await lockDirectory(dir)
    expect(JSON.parse(readFileSync(path(), 'utf8'))).toEqual(identifySelf())
    lock.release()
  }
})

it('is taken over when a crash has cut the file short', async () => {
  writeFileSync(path(), '{"pid":')
  const lock = await lockDirectory(dir)
  lock.release()
})

it('is taken over from a silent holder on another machine or container', async () => {
  hold({ ...identifySelf(), namespace: 'elsewhere' })
  const lock = await lockDirectory(dir, 140)
  lock.release()
})

it('is not taken from a holder on another machine or container that still touches its file', async () => {
  hold({ ...identifySelf(), pid: 12, namespace: 'elsewhere' })
  const attempt = lockDirectory(dir, 10_000)
  utimesSync(path(), new Date(0), new Date(0))
  await expect(attempt).rejects.toThrow('in use by process 12')
})

it('does not release a lock that it has lost', async () => {
  const lock = await lockDirectory(dir)
  const successor = JSON.stringify({ ...identifySelf(), pid: 12 })
  writeFileSync(path(), successor)
  lock.release()
  expect(readFileSync(path(), 'utf8')).toBe(successor)
})
