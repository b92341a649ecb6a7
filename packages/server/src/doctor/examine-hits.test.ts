import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { examineHits } from './examine-hits.ts'

const NOW_S = 1_800_000_000
const dirs: string[] = []
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true })
})

/** Files with their ages in seconds. */
function examine(files: Readonly<Record<string, number>>) {
  const dataDir = mkdtempSync(join(tmpdir(), 'postrider-doctor-'))
  dirs.push(dataDir)
  mkdirSync(join(dataDir, 'hits'))
  for (const [name, ageS] of Object.entries(files)) {
    const path = join(dataDir, 'hits', name)
    writeFileSync(path, 'x'.repeat(1_500))
    utimesSync(path, NOW_S - ageS, NOW_S - ageS)
  }
  return examineHits(dataDir, NOW_S * 1_000)
}

it('finds nothing without hits or a directory for them', async () => {
  expect(await examineHits('/nowhere', 0)).toEqual({
    check: 'hits',
    state: 'ok',
    detail: 'none wait',
  })
  expect(await examine({})).toMatchObject({ state: 'ok', detail: 'none wait' })
})

it('ignores hits of the last minutes, which a tracker is recording', async () => {
  expect(await examine({ '01A.hits': 10, '01B.taken': 200 })).toMatchObject({
    state: 'ok',
    detail: 'being recorded',
  })
})

it.each(['01A.hits', '01A.taken'])('warns of hits that nobody has recorded: %s', async (name) => {
  const { state, detail } = await examine({ [name]: 7_200, '01B.hits': 1 })
  expect(state).toBe('warning')
  expect(detail).toMatch(
    /^2 files of opens and clicks \(3 KiB\) in .* the oldest for 2h: a process/,
  )
})

it.each(['01A.taken.refused', '01A.taken.unreadable'])(
  'names hits that were set aside: %s',
  async (name) => {
    const { state, detail } = await examine({ [name]: 1 })
    expect(state).toBe('warning')
    expect(detail).toContain(`could not be recorded (${name})`)
  },
)
