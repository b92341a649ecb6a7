import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createBallast } from './ballast.ts'

const MiB = 1024 * 1024
const BYTES = 2 * MiB + 1
const noSpace = 'FATAL:  could not write file "pg_wal/xlogtemp.9": No space left on device'

let dir: string
let free: number
let written: string[]

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'postrider-ballast-'))
  free = 100 * MiB
  written = []
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

function ballastOf(onLine: (line: string) => void = () => undefined) {
  const write = (line: string) => {
    written.push(JSON.parse(line).msg)
    onLine(line)
  }
  return createBallast({
    dir,
    log: pino({ level: 'info' }, { write }),
    bytes: BYTES,
    readSpace: async () => ({ bavail: free, bsize: 1 }),
  })
}

/** Resolves when the file is there. */
async function makeOne() {
  const made = Promise.withResolvers<void>()
  const ballast = ballastOf((line) => line.includes('ballast.made') && made.resolve())
  ballast.start()
  await made.promise
  return ballast
}

it('occupies its size on the disk, private to its user, and survives the service', async () => {
  const ballast = await makeOne()
  const { size, blocks, mode } = statSync(join(dir, 'ballast'))
  expect(size).toBe(BYTES)
  expect(blocks * 512).toBeGreaterThanOrEqual(BYTES)
  expect(mode & 0o077).toBe(0)
  await ballast.stop()
  await ballast.stop()
  expect(readdirSync(dir)).toEqual(['ballast'])
})

it('is deleted once when the log of the server reports a full disk', async () => {
  const ballast = await makeOne()
  expect(await ballast.releaseIfShort('FATAL:  the database system is starting up')).toBe(false)
  expect(existsSync(join(dir, 'ballast'))).toBe(true)
  expect(await ballast.releaseIfShort(noSpace)).toBe(true)
  expect(readdirSync(dir)).toEqual([])
  expect(await ballast.releaseIfShort(noSpace)).toBe(false)
  expect(written).toEqual(['ballast.made', 'ballast.released'])
  await ballast.stop()
})

it('is deleted when almost no space is free, even if the log could not be written', async () => {
  const ballast = await makeOne()
  free = 31 * MiB
  expect(await ballast.releaseIfShort()).toBe(true)
  expect(readdirSync(dir)).toEqual([])
  await ballast.stop()
})

it('is not made when it would leave too little space, and is made by a later start', async () => {
  free = 3 * BYTES - 1
  const ballast = ballastOf()
  ballast.start()
  await ballast.stop()
  expect(readdirSync(dir)).toEqual([])
  free = 3 * BYTES
  await (await makeOne()).stop()
  expect(readdirSync(dir)).toEqual(['ballast'])
})

it('starts over after an interruption, and frees an incomplete one as well', async () => {
  writeFileSync(join(dir, 'ballast.new'), 'half')
  expect(await ballastOf().release()).toBe(true)
  expect(readdirSync(dir)).toEqual([])
  writeFileSync(join(dir, 'ballast.new'), 'half')
  await (await makeOne()).stop()
  expect(readdirSync(dir)).toEqual(['ballast'])
})
