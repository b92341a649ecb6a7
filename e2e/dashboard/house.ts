/**
 * Where scenes play: the service with its pages built, a browser, and people. Scenes without settings of their own
 * share a house for as long as their process goes on, one after the other.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { findFreePort } from '@postrider/testkit'
import type { Browser } from 'playwright-core'
import { launchBrowser } from '../browser.ts'
import { createWorld, type World } from '../world.ts'
import { findEnds } from './environment.ts'
import { createPages } from './pages.ts'
import { createPeople, type People } from './people.ts'

const BUILD = new URL('../../scripts/build-dashboard.mjs', import.meta.url).pathname

export interface House {
  readonly world: World
  readonly origin: string
  /** The link that the start of the service has printed. */
  readonly setupUrl: string
  readonly pages: ReturnType<typeof createPages>
  readonly people: People
  destroy(): Promise<void>
}

export async function buildDashboard(): Promise<void> {
  await promisify(execFile)(process.execPath, [BUILD])
}

export interface HouseOptions {
  /** Settings of the service without their prefix. */
  readonly env?: Readonly<Record<string, string>>
  /** Without it the set-up link is left to the test. */
  readonly isSetUp?: boolean
}

export async function openHouse(o: HouseOptions = {}): Promise<House> {
  await buildDashboard()
  const world = createWorld({ PORT: String(await findFreePort()), ...o.env })
  let browser: Browser | undefined
  try {
    const [launched] = await Promise.all([takeBrowser(), world.start()])
    browser = launched
    const { origin } = world.service()
    const setupUrl = await findSetupUrl(world)
    const people = createPeople(origin, world.operator())
    if (o.isSetUp !== false) await people.setUp(setupUrl)
    const pages = createPages(browser, origin)
    const destroy = async () => {
      await pages.close()
      await leaveBrowser(launched)
      await world.destroy()
    }
    return { world, origin, setupUrl, people, pages, destroy }
  } catch (error) {
    if (browser !== undefined) await leaveBrowser(browser)
    await world.destroy()
    throw error
  }
}

let sharedBrowser: Promise<Browser> | undefined
let sharedHouse: Promise<House> | undefined

/** That of all houses of the process, where somebody ends it. */
async function takeBrowser(): Promise<Browser> {
  const ends = findEnds()
  if (ends === undefined) return await launchBrowser()
  sharedBrowser ??= launchBrowser().then((browser) => {
    ends.push(() => browser.close())
    return browser
  })
  return await sharedBrowser
}

async function leaveBrowser(browser: Browser): Promise<void> {
  if (browser !== (await sharedBrowser)) await browser.close()
}

/** Undefined where nobody would end it. Mail that is put off waits for the test. */
export function findSharedHouse(): Promise<House> | undefined {
  const ends = findEnds()
  if (ends === undefined) return undefined
  sharedHouse ??= openHouse({ env: { SEND_RETRY_SCHEDULE: '10m' } }).then((house) => {
    ends.push(house.destroy)
    return house
  })
  return sharedHouse
}

/** The service prints it after it has said that it listens. */
async function findSetupUrl(world: World): Promise<string> {
  const line = await world.service().process.waitForLine(/\/app\/setup#/)
  return line.trim()
}
