/** The metrics of a whole process, right after its start, against docs/operations/monitor.md. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type App, compose } from '../src/compose.ts'
import { loadConfig } from '../src/config.ts'
import { createLogger } from '../src/platform/log.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'

const page = readFileSync(new URL('../../../docs/operations/monitor.md', import.meta.url), 'utf8')
/** Begun by the first request that has such labels, which cannot be known before. */
const BY_REQUEST = /^postrider_http_request(?:s_total|_duration_seconds)$/

let database: TestDatabase
let app: App
let text: string

beforeAll(async () => {
  database = await createTestDatabase()
  const config = loadConfig({
    POSTRIDER_DATABASE_URL: database.url,
    POSTRIDER_SECRET_KEYS: `k:${Buffer.alloc(32, 7).toString('base64')}`,
    POSTRIDER_ADMIN_TOKEN: 'a-token-of-the-operator-for-tests',
    POSTRIDER_PORT: '0',
  })
  app = compose({
    config,
    secrets: { secretKeys: config.secretKeys ?? '', adminToken: config.adminToken ?? '' },
    databaseUrl: database.url,
    log: createLogger({ level: 'silent' }),
    version: '0.0.0',
  })
  await app.start()
  const { host, port } = app.address()
  text = await (await fetch(`http://${host}:${port}/metrics?whatever=a-prober-adds`)).text()
})
afterAll(async () => {
  await app.stop()
  await database.close()
})

/** By the name of the metric, the labels of each of its lines. */
function linesByMetric(): Map<string, string[][]> {
  const types = [...text.matchAll(/^# TYPE (postrider_\w+) (counter|histogram)$/gm)]
  return new Map(
    types.map(([, name = '']) => {
      const lines = text.matchAll(new RegExp(`^${name}(?:_count)?(?:\\{(.*)\\})? \\S+$`, 'gm'))
      return [name, [...lines].map(([, labels = '']) => labels.match(/\w+(?==")/g) ?? [])]
    }),
  )
}

const documented = new Map(
  [...page.matchAll(/^\| `(postrider_\w+)` \| (.*?) ?\|/gm)].map(([, name = '', labels = '']) => [
    name,
    labels.match(/(?<=`)\w+(?=`)/g) ?? [],
  ]),
)

it('every counter and histogram is there with its zeros: what begins at one is no increase', () => {
  const lines = linesByMetric()
  const own = [...documented.keys()].filter((name) => lines.has(name) && !BY_REQUEST.test(name))
  expect(own.length).toBeGreaterThan(4)
  expect(own.filter((name) => lines.get(name)?.length === 0)).toEqual([])
})

it('every metric has the labels that the page names', () => {
  const wrong = [...linesByMetric()].flatMap(([name, lines]) => {
    const labels = documented.get(name)?.toSorted().join()
    if (labels === undefined) return []
    return lines.flatMap((one) => (one.toSorted().join() === labels ? [] : [`${name} ${one}`]))
  })
  expect(wrong).toEqual([])
})
