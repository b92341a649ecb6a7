/** Messages as large, or as odd, as the submission listener lets them in, through a running service. */
import { casesOf } from '@postrider/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  createScene,
  createSubmissionWorld,
  FROM,
  lines,
  logIn,
  refOf,
  type SubmissionScene,
  type SubmissionWorld,
} from '../submission-scene.ts'
import { TURN_CPU_MS_MAX, TURN_METER, turnIn } from './drive-doors.ts'

const MIB = 1024 * 1024
/** A busy machine takes its time to take in so much. */
const TAKEN_WITHIN_MS = 60_000

let world: SubmissionWorld
let scene: SubmissionScene
let testKey: string
beforeAll(async () => {
  world = await createSubmissionWorld({}, TURN_METER)
  await world.start()
  scene = await createScene(world, { record: 'count' })
  testKey = (await scene.client.createKey({ name: 'test', mode: 'test' })).api_key
})
afterAll(() => world.destroy())

const fill = (unit: string, bytes: number) => unit.repeat(Math.floor(bytes / unit.length))
const headed = (fields: readonly string[], body: string) =>
  `${lines(`From: ${FROM}`, 'To: ada@example.test', ...fields)}\r\n${body}\r\n`
const mixed = (body: string, ...fields: readonly string[]) =>
  headed(
    [...fields, 'MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=b'],
    `--b\r\nContent-Type: text/html\r\n\r\n<p><a href="https://a.example/">a</a></p>\r\n${body}\r\n--b--`,
  )
const file = (type: string, content: string) =>
  `--b\r\nContent-Type: ${type}; name=a\r\nContent-Transfer-Encoding: base64\r\n\r\n${content}`
const base64Lines = (bytes: number) => fill(`${'QUJD'.repeat(19)}\r\n`, bytes)
const page = (bytes: number) => file('text/html', base64Lines(bytes))

const messages: readonly (readonly [name: string, make: () => string])[] = [
  ['a file of 36 MiB', () => mixed(file('application/pdf', base64Lines(36 * MIB)))],
  [
    'a file of 36 MiB, with tracking',
    () =>
      mixed(
        file('application/pdf', base64Lines(36 * MIB)),
        'X-Postrider-Track: opens,clicks,unsubscribe',
      ),
  ],
  [
    'a file of 36 MiB, with templates and an idempotency key',
    () =>
      mixed(
        file('application/pdf', base64Lines(36 * MIB)),
        'X-Postrider-Template-Data: {"a": 1}',
        'X-Postrider-Idempotency-Key: one',
      ),
  ],
  ['30 pages of a megabyte', () => mixed(fill(`${page(1.2 * MIB)}\r\n`, 36 * MIB))],
  ['9 MiB of text', () => headed([], fill('Hello Ada\r\n', 9 * MIB))],
  [
    '9 MiB of HTML full of links, with tracking',
    () =>
      headed(
        ['Content-Type: text/html', 'X-Postrider-Track: opens,clicks'],
        fill('<a href="https://a.example/">a</a>\r\n', 9 * MIB),
      ),
  ],
  ['36 MiB of line ends', () => headed([], fill('\r\n', 36 * MIB))],
  ['100,000 header fields', () => headed(Array(100_000).fill('X-A: b'), 'x')],
  ['2,000 header fields', () => headed(Array(1_900).fill('X-A: b'), 'x')],
  ['parts within parts', () => headed([], nested(2_000))],
  ['lists of addresses', () => headed([`Cc: ${fill('a@b.cd,', 65_000)}`], 'x')],
  ['groups of addresses within groups', () => headed([`Cc: ${fill('a:', 65_000)}`], 'x')],
  ['parts without end', () => mixed(fill('--b\r\n\r\n', 36 * MIB))],
]

function nested(depth: number): string {
  const part = (_: unknown, i: number) =>
    `--b${i}\r\nContent-Type: multipart/mixed; boundary=b${i + 1}\r\n\r\n`
  return Array.from({ length: depth }, part).join('')
}

it.each(messages)(
  '[contract 8] %s do not block the event loop',
  {
    timeout: 180_000,
  },
  async (name, make) => {
    const running = world.service()
    // Test mail is taken apart, as for a relay provider. By turns in `npm test`.
    const turn = messages.findIndex(([other]) => other === name)
    const keys = [scene.apiKey, testKey].filter((_, at) => (at + turn) % casesOf(2, 1) === 0)
    for (const key of keys) {
      const client = await logIn(world.port, key)
      const seen = running.process.lines.length
      await client.ask(`MAIL FROM:<${FROM}>`)
      await client.ask('RCPT TO:<ada@example.test>')
      await client.ask('DATA')
      client.send(make())
      client.send('.\r\n')
      const reply = await client.see(/\r\n/, TAKEN_WITHIN_MS)
      expect(reply).toMatch(/^(250|55\d) /)
      client.close()
      const isOver = async () =>
        !reply.startsWith('250') ||
        (await scene.client.getEmail(refOf(reply))).email.recipients[0]?.status === 'delivered'
      await expect.poll(isOver, { timeout: 60_000 }).toBe(true)
      expect((await fetch(`${running.origin}/healthz`)).status).toBe(200)
      const longest = Math.max(0, ...running.process.lines.slice(seen).map(turnIn))
      process.stdout.write(`${name}: longest turn ${Math.round(longest)} ms\n`)
      expect(longest).toBeLessThan(TURN_CPU_MS_MAX)
    }
  },
)
