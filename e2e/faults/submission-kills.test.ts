/** The process is killed while programs hand in mail: each 250 is sent, and nothing twice by itself. */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import {
  createScene,
  createSubmissionWorld,
  FROM,
  lines,
  logIn,
  refOf,
  type SubmissionWorld,
  submit,
} from '../submission-scene.ts'

const CONNECTIONS = 6
const KILLS = 3

let world: SubmissionWorld
beforeAll(async () => {
  world = await createSubmissionWorld()
})
afterEach(() => world.closePeers())
afterAll(() => world.destroy())

it('[contract 8] sends what a 250 confirmed, once, whenever it is killed', {
  timeout: 180_000,
}, async () => {
  await world.start()
  const { apiKey, smtp } = await createScene(world)
  const confirmed = new Map<string, string>()
  let number = 0

  /** Hands in one after another, until its connection is gone. */
  async function handIn(): Promise<void> {
    const client = await logIn(world.port, apiKey)
    for (;;) {
      number += 1
      const id = `m${number}`
      const raw = lines(`From: ${FROM}`, `Message-ID: <${id}@a.test>`, 'Date: x', '', id)
      confirmed.set(`<${id}@a.test>`, refOf(await submit(client, raw)))
    }
  }

  for (let kill = 0; kill < KILLS; kill++) {
    if (kill > 0) await world.start()
    const before = confirmed.size
    const all = Array.from({ length: CONNECTIONS }, () => handIn().catch((error: unknown) => error))
    await expect.poll(() => confirmed.size, { timeout: 60_000 }).toBeGreaterThan(before + 20)
    await world.end('SIGKILL')
    const ended = await Promise.all(all)
    // What was under way was cut off, and never confirmed.
    for (const error of ended) expect(error).toBeInstanceOf(Error)
  }
  await world.start()
  const idsOf = () =>
    smtp.messages.map(({ raw }) => /^Message-ID: (.*)\r$/m.exec(raw.toString())?.[1])
  await expect
    .poll(() => [...confirmed.keys()].filter((id) => !idsOf().includes(id)), { timeout: 60_000 })
    .toEqual([])
  const counts = new Map<string, number>()
  for (const id of idsOf()) counts.set(id ?? '', (counts.get(id ?? '') ?? 0) + 1)
  // The 250 boundary: the attempt that a kill cut off after its last dot is made again.
  const twice = [...counts].filter(([, count]) => count > 1)
  expect(twice.length).toBeLessThanOrEqual(KILLS * 64)
  expect(new Set(confirmed.values()).size).toBe(confirmed.size)
})
