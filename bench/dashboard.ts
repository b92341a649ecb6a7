/**
 * The first page of Emails in Chromium, in a record of --recipients: from the click on "Emails" to the paint of
 * its rows, and how much of that is after the answer has come; and the same by the usual filters, from the change
 * of the address.
 *
 * Each load is of a page that has kept no answer. The record is that of the part `logs`.
 */
import type pg from 'pg'
import type { Page } from 'playwright-core'
import { request } from 'undici'
import { launchBrowser } from '../e2e/browser.ts'
import { buildDashboard } from '../e2e/dashboard/house.ts'
import { startWithLogs } from './logs.ts'
import { type BenchOrder, heading, reportRatio } from './report.ts'
import { adminToken } from './set-up.ts'

const LOADS = 30
const FILTERED_LOADS = 10
const PAINT_MS_MAX = 300
const PERSON = { email: 'bench@example.com', password: 'some quiet words to remember' }

export async function measureDashboard(o: BenchOrder): Promise<void> {
  heading(`The first page of Emails in a record of ${o.recipients} recipients`)
  await buildDashboard()
  const { origin, sql, tenant } = await startWithLogs(o)
  await measureLoads(o, { origin, sql, tenantId: tenant.tenantId })
}

interface SeededRecord {
  readonly origin: string
  readonly sql: pg.Client
  readonly tenantId: string
}

export async function measureLoads(
  o: Pick<BenchOrder, 'stopAtEnd'>,
  { origin, sql, tenantId }: SeededRecord,
): Promise<void> {
  await invite(origin, tenantId)
  const browser = await launchBrowser()
  o.stopAtEnd(() => browser.close())
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  const login = await context.request.post(`${origin}/ui/session`, { data: PERSON })
  if (!login.ok()) throw new Error(`the login answered ${login.status()}`)
  const page = await context.newPage()
  const base = `/app/t/${tenantId}`
  const load = async (begin: () => Promise<unknown>): Promise<Load> => {
    await page.goto(`${origin}${base}/developers`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.evaluate(WATCH)
    await begin()
    return await page.evaluate('globalThis.painted')
  }

  const click = () => page.getByRole('link', { name: 'Emails', exact: true }).click()
  // The files of the page are in the cache of the browser, as they are from the second visit on.
  await load(click)
  const { afterAnswer } = report('from the click', await times(LOADS, () => load(click)))
  reportRatio('after the answer, p95 to 300 ms', afterAnswer / PAINT_MS_MAX, 'wanted: at most 1')
  for (const [name, query] of await filters(sql, tenantId))
    report(
      name,
      await times(FILTERED_LOADS, (round) =>
        load(() => openAddress(page, `${base}/emails?${new URLSearchParams(query(round))}`)),
      ),
    )
}

/** In milliseconds from the click, or the change of the address. */
interface Load {
  readonly asked: number
  readonly answered: number
  readonly painted: number
  readonly rows: number
}

/**
 * Keeps the moments of the next load in the page. What is painted first in the list is its rows, or that there
 * are none; the task after the frame in which it was drawn is the earliest that the page knows of its paint.
 */
const WATCH = `{
  let begun
  const begin = () => { begun ??= performance.now() }
  addEventListener('click', begin, { capture: true, once: true })
  globalThis.openAddress = (to) => { begin(); history.pushState({}, '', to) }
  performance.clearResourceTimings()
  globalThis.painted = new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      const rows = document.querySelectorAll('main [role=table] [aria-rowindex]').length
      const isEmpty = [...document.querySelectorAll('main h2')]
        .some((one) => one.textContent === 'Nothing matches')
      if (begun === undefined || (rows === 0 && !isEmpty)) return
      observer.disconnect()
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel()
        port1.onmessage = () => {
          const asked = performance.getEntriesByType('resource')
            .filter(({ name, responseEnd }) => name.includes('/v1/email/logs') && responseEnd > 0)
          resolve({
            asked: asked[0].startTime - begun,
            answered: asked.at(-1).responseEnd - begun,
            painted: performance.now() - begun,
            rows,
          })
        }
        port2.postMessage(undefined)
      })
    })
    observer.observe(document.body, { childList: true, subtree: true })
  })
  // Nothing to wait for yet.
  undefined
}`

async function openAddress(page: Page, to: string): Promise<void> {
  await page.evaluate(`openAddress(${JSON.stringify(to)})`)
}

async function times(count: number, load: (round: number) => Promise<Load>): Promise<Load[]> {
  const loads: Load[] = []
  for (let round = 0; round < count; round += 1) loads.push(await load(round))
  return loads
}

function report(name: string, loads: readonly Load[]): { readonly afterAnswer: number } {
  const at = (part: number, of: (load: Load) => number) => {
    const sorted = loads.map(of).toSorted((a, b) => a - b)
    return sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN
  }
  const pair = (of: (load: Load) => number) =>
    `${at(0.5, of).toFixed(0).padStart(5)}/${at(0.95, of).toFixed(0).padStart(5)}`
  const answer = (load: Load) => load.answered - load.asked
  const after = (load: Load) => load.painted - load.answered
  console.log(
    `  ${name.padEnd(38)} p50/p95 ms: all ${pair((load) => load.painted)}, answer ${pair(answer)}, paint after it ${pair(after)}   ${loads.at(-1)?.rows ?? 0} rows`,
  )
  return { afterAnswer: at(0.95, after) }
}

type Filters = [name: string, query: (round: number) => Readonly<Record<string, string>>][]

/** What people filter by, with values that there are. */
async function filters(sql: pg.Client, tenantId: string): Promise<Filters> {
  const { rows } = await sql.query<{ email: string; ref_id: string; subject: string; at: Date }>(
    `select email, r.ref_id, e.subject, r.created_at as at
       from (select * from sending_recipient tablesample system (0.1) limit 200) r
       join sending_email e on e.tenant_id = $1 and e.ref_id = r.ref_id and e.day = r.day`,
    [tenantId],
  )
  const some = (round: number) => {
    const row = rows[(round * 7) % rows.length]
    if (row === undefined) throw new Error('nothing was seeded')
    return row
  }
  const day = (round: number) => some(round).at.toISOString().slice(0, 10)
  return [
    ['an address', (i) => ({ q: some(i).email })],
    ['an address of nobody', (i) => ({ q: `nobody${i}@example.com` })],
    ['a domain of 30 %', () => ({ q: 'domain:d0.example' })],
    ['a rare domain', (i) => ({ q: `domain:rare${i}.example` })],
    ['an id', (i) => ({ q: some(i).ref_id })],
    ['a subject of half', () => ({ q: 'subject:order' })],
    ['a subject of one email, the last day', (i) => ({ q: `"${some(i).subject}"`, last: '24h' })],
    ['failed', () => ({ status: 'failed' })],
    ['deferred', () => ({ status: 'deferred' })],
    ['delivered', () => ({ status: 'delivered' })],
    ['failed, the last day', () => ({ status: 'failed', last: '24h' })],
    ['a campaign', (i) => ({ campaign: `campaign-${(i * 37) % 1000}` })],
    ['a campaign, failed', (i) => ({ campaign: `campaign-${(i * 37) % 1000}`, status: 'failed' })],
    ['a day', (i) => ({ from: day(i), to: day(i) })],
    ['a day of deliveries', (i) => ({ deliveredFrom: day(i), deliveredTo: day(i) })],
    ['bcc', () => ({ type: 'bcc' })],
  ]
}

/** A person who may read, and has set a password. */
async function invite(origin: string, tenantId: string): Promise<void> {
  const { invitation_url: url } = await post(`${origin}/admin/v1/users`, {
    ...{ email: PERSON.email, name: 'Bench', role: 'viewer', tenants: [tenantId] },
  })
  const token = new URL(String(url)).hash.slice(1)
  await post(`${origin}/ui/invitation`, { token, password: PERSON.password })
}

async function post(url: string, body: object): Promise<Record<string, unknown>> {
  const answer = await request(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await answer.body.text()
  if (answer.statusCode >= 300) throw new Error(`${url}: ${answer.statusCode} ${text}`)
  return JSON.parse(text) as Record<string, unknown>
}
