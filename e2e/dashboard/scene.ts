/**
 * What tests and pictures of the dashboard share: the service with its pages built, a first operator, a tenant
 * with a key, and a stranger, another tenant that nobody else may see anything of.
 *
 * Every page that the scene opens is watched. `complaints` says what went wrong in any of them: what the browser
 * complained of, an exception, a dialog, a request to another host, a secret or a word of the stranger in the
 * page or in an answer.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { MemberRole, OperatorRole } from '@postrider/contract'
import type { Page } from 'playwright-core'
import { askedElsewhere, type PageWatch, watchPage } from '../browser.ts'
import type { Tenant, World } from '../world.ts'
import { findSharedHouse, type House, type HouseOptions, openHouse } from './house.ts'
import { type NewPerson, operator, type Person } from './people.ts'

export type { Person } from './people.ts'

/** What tells something of an answer; the others are the files of the page. */
const READABLE = /^(?:application\/(?:json|x-ndjson)|text\/(?:html|plain|csv))\b/
const READ_WITHIN_MS = 3_000
const SETTLED_MS = 400
const SETTLES_WITHIN_MS = 15_000

export interface OpenOptions {
  /** Who has logged in; nobody, unless named. */
  readonly person?: Person
  readonly colors?: 'light' | 'dark'
  readonly width?: number
  readonly height?: number
  readonly language?: 'en' | 'de'
  /** The page becomes the one of an operator. */
  readonly maySeeAll?: boolean
  /** Answers that belong to the test, such as `401 /ui/session`. */
  readonly refusals?: readonly string[]
  /** Origins that the page may lead the browser to, such as a login at a provider. */
  readonly mayVisit?: readonly string[]
  /** Other complaints of the browser that belong to the test. */
  readonly expects?: readonly RegExp[]
}

export interface SceneOptions extends HouseOptions {
  readonly tenantName?: string
  /** A canary, unless named. */
  readonly strangerName?: string
  /** The test ends the service, or looks at all tenants: no other may have been there. */
  readonly isAlone?: boolean
}

export interface Scene {
  readonly world: World
  readonly origin: string
  /** The link that the start of the service has printed. */
  readonly setupUrl: string
  readonly operator: Person
  readonly tenant: Tenant
  /** Its name is a canary: it is on no page and in no answer for others than operators. */
  readonly stranger: Tenant & { readonly name: string }
  /** A secret that the service keeps. It may be on no page and in no answer. */
  newSecret(): string
  newPerson(role: MemberRole | OperatorRole, o?: NewPerson): Promise<Person>
  /** A page that has no cookies but those of the person, and nothing stored. */
  open(path: string, o?: OpenOptions): Promise<Page>
  /** Of all open pages, since they were last asked for; none if all is well. */
  complaints(): Promise<string[]>
  closePages(): Promise<void>
  destroy(): Promise<void>
}

interface Leaving {
  readonly world: World
  readonly tenants: readonly (Pick<Tenant, 'tenantId'> & { readonly name: string })[]
  closePages(): Promise<void>
}

interface Opened {
  readonly page: Page
  readonly watch: PageWatch
  readonly answers: Promise<{ readonly url: string; readonly text: string }>[]
  readonly o: OpenOptions
}

export async function createScene(o: SceneOptions = {}): Promise<Scene> {
  const needsOwn = o.isAlone === true || o.env !== undefined || o.isSetUp === false
  const shared = needsOwn ? undefined : await findSharedHouse()
  if (shared !== undefined) return await setUp(shared, o, leave)
  const house = await openHouse(o)
  try {
    return await setUp(house, o, house.destroy)
  } catch (error) {
    await house.destroy()
    throw error
  }
}

/** The service has nothing more to do for those who were there. */
async function leave({ world, tenants, closePages }: Leaving): Promise<void> {
  await closePages()
  for (const { tenantId, name } of tenants)
    await world.operator().deleteTenant(tenantId, { confirm: name })
  await world.closePeers()
}

async function setUp(
  house: House,
  o: SceneOptions,
  end: (leaving: Leaving) => Promise<void>,
): Promise<Scene> {
  const { origin, pages, people, setupUrl } = house
  const tenants: Leaving['tenants'][number][] = []
  const world: World = {
    ...house.world,
    async newTenant(name = 'e2e') {
      const made = await house.world.newTenant(name)
      tenants.push({ ...made, name })
      return made
    },
  }
  const tenant = await world.newTenant(o.tenantName ?? 'Aster Books')
  const name = o.strangerName ?? `Stranger ${randomBytes(6).toString('hex')}`
  const stranger = { ...(await world.newTenant(name)), name }
  const secrets = [world.adminToken, stranger.apiKey, tenant.apiKey]
  const opened: Opened[] = []

  async function closePages(): Promise<void> {
    await Promise.all(opened.splice(0).map(({ page }) => pages.giveBack(page)))
    people.giveBack()
  }

  async function newPerson(role: Person['role'], person: NewPerson = {}): Promise<Person> {
    const isOperator = role === 'operator' || role === 'operator_viewer'
    return await people.take(role, {
      ...(isOperator ? {} : { tenantIds: [tenant.tenantId] }),
      ...person,
    })
  }

  return {
    ...{ world, origin, setupUrl, operator, tenant, stranger, newPerson },
    newSecret() {
      const secret = `secret-${randomBytes(9).toString('hex')}`
      secrets.push(secret)
      return secret
    },
    async open(path, options = {}) {
      const { person } = options
      const page = await pages.take(options)
      if (person !== undefined) await people.logIn(page.context(), person)
      const answers: Opened['answers'] = []
      page.on('response', (response) => {
        if (READABLE.test(response.headers()['content-type'] ?? ''))
          answers.push(
            response.text().then(
              (text) => ({ url: response.url(), text }),
              () => ({ url: response.url(), text: '' }),
            ),
          )
      })
      opened.push({ page, watch: watchPage(page), answers, o: options })
      traffic.set(page, watchTraffic(page))
      await page.goto(origin + path)
      return page
    },
    async complaints() {
      const found = await Promise.all(
        opened.map((one) => complaintsOf(one, { origin, secrets, stranger: stranger.name })),
      )
      return found.flat()
    },
    closePages,
    destroy: () => end({ world, tenants, closePages }),
  }
}

interface Forbidden {
  readonly origin: string
  readonly secrets: readonly string[]
  readonly stranger: string
}

async function complaintsOf(
  { page, watch, answers, o }: Opened,
  { origin, secrets, stranger }: Forbidden,
): Promise<string[]> {
  const refusals = ['401 /ui/session', ...(o.refusals ?? [])]
  const isExpected = (text: string) =>
    o.expects?.some((pattern) => pattern.test(text)) === true ||
    refusals.some((refusal) => {
      const [status, path] = refusal.split(' ')
      return text.includes(`status of ${status} `) && text.includes(`(${origin}${path}`)
    })
  const maySeeAll = o.maySeeAll ?? o.person?.role.startsWith('operator') === true
  const forbidden = [...secrets, ...(maySeeAll ? [] : [stranger])]
  const seen = watch.take()
  const read = await Promise.all(answers.splice(0).map((one) => Promise.race([one, giveUp()])))
  const texts = [{ url: page.url(), text: await page.content() }, ...read]
  return [
    ...seen.complaints.filter((text) => !isExpected(text)),
    ...askedElsewhere(seen, origin)
      .filter((url) => o.mayVisit?.some((one) => url.startsWith(`${one}/`)) !== true)
      .map((url) => `asked for ${url}`),
    ...texts.flatMap(({ url, text }) =>
      forbidden.filter((one) => text.includes(one)).map((one) => `${url} shows ${one}`),
    ),
  ]
}

/** Where a page never reads an answer to its end, nobody does. */
async function giveUp(): Promise<{ readonly url: string; readonly text: string }> {
  return await setTimeout(READ_WITHIN_MS, { url: '', text: '' }, { ref: false })
}

interface Traffic {
  underWay: number
  quietSinceMs: number
}

const traffic = new WeakMap<Page, Traffic>()

/** What the page asks for, but for streams: they stay open. */
function watchTraffic(page: Page): Traffic {
  const now: Traffic = { underWay: 0, quietSinceMs: performance.now() }
  const count = (by: number) => (request: { url(): string }) => {
    if (request.url().includes('/events/stream')) return
    now.underWay += by
    now.quietSinceMs = performance.now()
  }
  page.on('request', count(1)).on('requestfinished', count(-1)).on('requestfailed', count(-1))
  return now
}

/** As the router does it: the page is not loaded again. `settle` waits for what it asks for then. */
export async function goTo(page: Page, path: string): Promise<void> {
  const seen = traffic.get(page)
  await page.evaluate(`history.pushState({}, '', ${JSON.stringify(path)})`)
  if (seen !== undefined) seen.quietSinceMs = performance.now()
  await page.getByRole('heading', { level: 1 }).waitFor()
}

/** Resolves once the page, which the scene has opened, has asked for nothing for a moment. */
export async function settle(page: Page): Promise<void> {
  const seen = traffic.get(page)
  if (seen === undefined) throw new Error('the scene has not opened this page')
  const untilMs = performance.now() + SETTLES_WITHIN_MS
  while (performance.now() < untilMs) {
    if (seen.underWay <= 0 && performance.now() - seen.quietSinceMs > SETTLED_MS) break
    await page.waitForTimeout(50)
  }
  await page.evaluate('document.fonts.ready.then(() => undefined)')
}
