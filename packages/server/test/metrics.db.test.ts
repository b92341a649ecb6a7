/** The metrics of a whole process, right after its start, against docs/operations/monitor.md. */
import { readFileSync } from 'node:fs'
import { createSmtpServer } from '@postrider/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { App } from '../src/compose.ts'
import { ADMIN_TOKEN, composeForTest } from './composed-app.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { emailBody } from './sending.ts'

const page = readFileSync(new URL('../../../docs/operations/monitor.md', import.meta.url), 'utf8')
/** Begun by the first request that has such labels, which cannot be known before. */
const BY_REQUEST = /^postrider_http_request(?:s_total|_duration_seconds)$/

let database: TestDatabase
let app: App
let base: string
let text: string

beforeAll(async () => {
  database = await createTestDatabase()
  app = composeForTest(database.url, {
    env: { POSTRIDER_ALLOW_NETWORKS: '127.0.0.0/8', POSTRIDER_AUTH_CONFIRM_DELAY: '0ms' },
  })
  await app.start()
  const { host, port } = app.address()
  base = `http://${host}:${port}`
  text = await (await fetch(`${base}/metrics?whatever=a-prober-adds`)).text()
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

it('every counter and histogram starts at zero, so that its first increase is seen', () => {
  const lines = linesByMetric()
  const own = [...documented.keys()].filter((name) => lines.has(name) && !BY_REQUEST.test(name))
  expect(own.length).toBeGreaterThan(4)
  expect(own.filter((name) => lines.get(name)?.length === 0)).toEqual([])
})

it('every metric has the documented labels', () => {
  const wrong = [...linesByMetric()].flatMap(([name, lines]) => {
    const labels = documented.get(name)?.toSorted().join()
    if (labels === undefined) return []
    return lines.flatMap((one) => (one.toSorted().join() === labels ? [] : [`${name} ${one}`]))
  })
  expect(wrong).toEqual([])
})

it('a mailer that a send has deactivated is counted by its reason', async () => {
  const server = await createSmtpServer({ auth: { users: { news: 'right' } } })
  const post = async (path: string, token: string, body: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) })
    expect(answer.ok).toBe(true)
    return (await answer.json()) as { readonly api_key: string }
  }
  try {
    const { api_key: key } = await post('/admin/v1/tenants', ADMIN_TOKEN, { name: 'A' })
    await post('/v1/smtp', key, {
      name: 'News',
      email: 'news@example.com',
      config_type: 'smtp',
      connection_type: 'basic',
      verify: false,
      config: {
        host: '127.0.0.1',
        port: server.port,
        secure: 'None',
        username: 'news',
        password: 'wrong',
      },
    })
    await post('/v1/email/send', key, emailBody())
    const deactivated = async () => {
      const now = await (await fetch(`${base}/metrics`)).text()
      return now.match(/^postrider_mailers_deactivated_total.*$/gm)
    }
    await expect
      .poll(deactivated, { timeout: 20_000 })
      .toEqual([
        'postrider_mailers_deactivated_total{reason="oauth_revoked"} 0',
        'postrider_mailers_deactivated_total{reason="provider_auth_error"} 1',
      ])
  } finally {
    await server.close()
  }
})
