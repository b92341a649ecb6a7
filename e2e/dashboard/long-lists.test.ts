/**
 * Lists of 10,000 rows: far down and back. Only what is in sight is drawn, the memory of the page stays
 * bounded, and Back leads to the row that was left.
 */
import { randomBytes } from 'node:crypto'
import { casesOf } from '@postrider/testkit'
import { connectTo, createDatabase, type TestDatabaseCopy } from '@postrider/testkit/database'
import type { Page } from 'playwright-core'
import { afterAll, expect, inject, it } from 'vitest'
import type { Tenant } from '../world.ts'
import { describeInBrowser } from './in-browser.ts'
import type { Scene } from './scene.ts'

const MANY = 10_000
/** What is really sent; other rows are written. */
const SENT = casesOf(1_000, MANY)
/** So far a person scrolls. */
const DEEP = casesOf(600, 2_000)
const EMAILS = 10
/** Deliveries, and how many of them a page of the service looks at. */
const [COPIED, LOOKED_AT] = [50_000, 2_000]
/** In and around sight, on a window of 900 pixels. */
const DRAWN_MAX = 120
/** Of all that a page of a list keeps more when these rows were read. */
const HEAP_MAX = casesOf(40, 80) * 1024 * 1024
const LIVE_DRAWN_MAX = 200
/** Without another row, each of 20 ms or more. */
const TRIES_MAX = 500

let database: TestDatabaseCopy | undefined
afterAll(() => database?.close())

const tableOf = (page: Page, name: string) => page.getByRole('table', { name })

async function heapOf(page: Page): Promise<number> {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('HeapProfiler.collectGarbage')
  const { usedSize } = await cdp.send('Runtime.getHeapUsage')
  await cdp.detach()
  return usedSize
}

/**
 * Scrolls on, as a person does with the End key, until so many rows are there or no more come; answers how many
 * there are, and how many were drawn at most.
 */
async function scrollToEnd(
  page: Page,
  label: string,
  rows: number,
): Promise<{ readonly rows: number; readonly drawn: number }> {
  return await page.evaluate(
    `(async () => {
      const table = document.querySelector('[role=table][aria-label="${label}"]')
      const count = () => Number(table.getAttribute('aria-rowcount')) - 1
      let [drawn, last, tries] = [0, 0, 0]
      while (count() < ${rows} && tries < ${TRIES_MAX}) {
        tries = count() > last ? 0 : tries + 1
        last = count()
        scrollTo(0, document.body.scrollHeight)
        await new Promise((later) => setTimeout(later, 20))
        drawn = Math.max(drawn, table.querySelectorAll('[role=row]').length)
      }
      scrollTo(0, document.body.scrollHeight)
      await new Promise((later) => setTimeout(later, 100))
      return { rows: count(), drawn }
    })()`,
  )
}

/** The first row that is wholly in sight: its place in the list. */
async function rowInSight(page: Page, label: string): Promise<number> {
  return await page.evaluate(
    `Number([...document.querySelectorAll('[role=table][aria-label="${label}"] [aria-rowindex]')]
      .find((row) => row.getBoundingClientRect().top > 100).getAttribute('aria-rowindex'))`,
  )
}

/** So many rows of the list: bounded, and where they were after one of them was looked at. */
async function expectLongList(
  page: Page,
  label: string,
  o: { readonly from: number; readonly opensRows: boolean },
): Promise<void> {
  const table = tableOf(page, label)
  await expect
    .poll(async () => Number(await table.getAttribute('aria-rowcount')))
    .toBeGreaterThan(20)
  const before = await heapOf(page)
  const { rows, drawn } = await scrollToEnd(page, label, o.from)
  expect(rows).toBeGreaterThanOrEqual(o.from)
  expect(drawn).toBeLessThan(DRAWN_MAX)
  expect(await table.getByRole('row').count()).toBeLessThan(DRAWN_MAX)
  expect((await heapOf(page)) - before).toBeLessThan(HEAP_MAX)
  expect(await rowInSight(page, label)).toBeGreaterThan(o.from - 50)
  if (!o.opensRows) return

  const deep = Math.floor(o.from / 2)
  await page.evaluate(`scrollTo(0, document.body.scrollHeight / 2)`)
  await expect.poll(async () => Math.abs((await rowInSight(page, label)) - deep)).toBeLessThan(200)
  const left = await rowInSight(page, label)
  const row = table.locator(`[aria-rowindex="${left}"]`)
  // Its words have an age, which grows.
  const addressOf = () => row.getByRole('link').first().getAttribute('href')
  const address = await addressOf()
  expect(address).not.toBeNull()
  await row.getByRole('link').first().click()
  await table.waitFor({ state: 'detached' })
  await page.goBack()
  await row.waitFor()
  expect(await addressOf()).toBe(address)
  await expect.poll(async () => Math.abs((await rowInSight(page, label)) - left)).toBeLessThan(3)
}

describeInBrowser(
  'a list of 10,000 rows',
  (scene) => {
    it('of live events stays short, while the tenant sends as many', async () => {
      const { open, newPerson, tenant, world } = scene()
      const server = await world.newSmtpServer()
      await configure(scene(), server.port)
      const page = await open(`/app/t/${tenant.tenantId}/live`, {
        person: await newPerson('viewer'),
      })
      await page.locator('main header').getByText('Live', { exact: true }).last().waitFor()
      const before = await heapOf(page)
      await sendMany(tenant)
      const waiting = async () => (await tenant.client.getOverview({})).overview.queue.waiting
      await expect.poll(waiting, { timeout: 120_000, interval: 250 }).toBe(0)
      const rows = page.locator('main ul li').filter({ hasText: 'MAIL_DELIVERED' })
      await expect.poll(() => rows.count(), { timeout: 60_000 }).toBe(LIVE_DRAWN_MAX)
      expect((await heapOf(page)) - before).toBeLessThan(HEAP_MAX)
    }, 300_000)

    it('of emails is read far down, and to its end in the soak run', async () => {
      const { open, newPerson, tenant } = scene()
      const page = await open(`/app/t/${tenant.tenantId}/emails`, {
        person: await newPerson('viewer'),
      })
      await expectLongList(page, 'Emails', { from: SENT, opensRows: true })
    }, 180_000)

    it('of deliveries is read far down', async () => {
      const { open, newPerson, tenant } = scene()
      await copyDelivery(scene())
      const page = await open(`/app/t/${tenant.tenantId}/deliveries`, {
        person: await newPerson('viewer'),
      })
      await expectLongList(page, 'Deliveries', { from: DEEP, opensRows: true })
    }, 180_000)

    it('of deliveries to a webhook without any is looked through by 20 pages at a time', async () => {
      const { open, newPerson, tenant, world } = scene()
      const receiver = await world.newReceiver()
      await tenant.client.registerWebhook({
        ...{ webhook_url: `${receiver.origin}/domains`, event: 'DOMAIN_VERIFICATION' },
        method: 'POST',
      })
      const { webhooks } = await tenant.client.listWebhooks()
      const webhook = webhooks.find(({ event }) => event === 'DOMAIN_VERIFICATION')
      const page = await open(`/app/t/${tenant.tenantId}/overview`, {
        person: await newPerson('viewer'),
      })
      let asked = 0
      page.on('request', (request) => {
        if (request.url().includes('/webhook/deliveries?')) asked += 1
      })
      const filter = `webhook_id=${webhook?.webhook_id}`
      await page.goto(`${scene().origin}/app/t/${tenant.tenantId}/deliveries?${filter}`)
      const main = page.getByRole('main')
      await main.getByText('Nothing in the newest ones.').waitFor()
      expect(asked).toBe(20)
      await main.getByRole('button', { name: 'Look further' }).click()
      // The end is not 20 pages away.
      await main.getByRole('table').waitFor({ state: 'detached' })
      expect(asked).toBeGreaterThan(COPIED / LOOKED_AT)
      expect(asked).toBeLessThan(40)
    }, 180_000)

    it('of suppressions is read far down, and one of them is found', async () => {
      const { open, newPerson, tenant } = scene()
      const lines = Array.from({ length: MANY }, (_, n) => `member${n}@example.com,bounced\n`)
      await tenant.client.importSuppressions(`email,reason\n${lines.join('')}`)
      const page = await open(`/app/t/${tenant.tenantId}/suppressions`, {
        person: await newPerson('viewer'),
      })
      await expectLongList(page, 'Suppressions', { from: DEEP, opensRows: false })
      await page.evaluate('scrollTo(0, 0)')
      const search = page.getByRole('textbox', { name: 'Address' })
      await search.fill('member7042@example.com')
      await search.press('Enter')
      const table = tableOf(page, 'Suppressions')
      await expect.poll(async () => Number(await table.getAttribute('aria-rowcount'))).toBe(2)
      await table.getByText('member7042@example.com').waitFor()
    }, 180_000)
  },
  async () => {
    const { serverUrl, templateWithDays } = inject('testDatabase')
    database = await createDatabase({ serverUrl, template: templateWithDays })
    return {
      env: {
        DATABASE_URL: database.url,
        SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      },
    }
  },
)

async function configure({ world, tenant: { client } }: Scene, port: number): Promise<void> {
  const receiver = await world.newReceiver()
  await client.configureSMTP({
    ...{ name: 'News', email: 'news@example.com', config_type: 'smtp', connection_type: 'basic' },
    config: { host: '127.0.0.1', port, secure: 'None' },
    limits: { connections: 8 },
  })
  await client.registerWebhook({
    ...{ webhook_url: `${receiver.origin}/events`, event: 'EMAIL_EVENT', method: 'POST' },
    webhook_options: { events: { delivery: true } },
  })
}

async function sendMany({ client }: Tenant): Promise<void> {
  const recipients = SENT / EMAILS
  for (let email = 0; email < EMAILS; email += 1)
    await client.sendEmail({
      ...{ from: { email: 'news@example.com' }, subject: `Letter ${email}` },
      to: Array.from({ length: recipients }, (_, n) => ({
        email: `member${email * recipients + n}@example.com`,
      })),
      content: [{ type: 'text/plain', value: 'Hello.' }],
    })
}

/** One that was settled, so often that there are as many: each with an id of its own. */
async function copyDelivery({ tenant: { client, tenantId } }: Scene): Promise<void> {
  const { deliveries } = await client.listWebhookDeliveries({ status: 'delivered', pageSize: 1 })
  const sql = await connectTo(database?.url ?? '')
  try {
    const { rowCount } = await sql.query(
      `insert into webhooks_delivery
         (tenant_id, delivery_id, day, webhook_id, status, mode, event_ids, event_days, traceparent, attempts,
          created_at, finished_at, last_attempt)
       select tenant_id, left(delivery_id, -8) || lpad(n::text, 8, '0'), day, webhook_id, status, mode,
              event_ids[1:1], event_days[1:1], traceparent, attempts, created_at, finished_at, last_attempt
         from webhooks_delivery cross join generate_series(1, $3) n
        where tenant_id = $1 and delivery_id = $2`,
      [tenantId, deliveries[0]?.delivery_id, COPIED],
    )
    expect(rowCount).toBe(COPIED)
  } finally {
    await sql.end()
  }
}
