/**
 * Chromium for tests: Debian's, or another one that CHROMIUM names. Names lead nowhere but to this machine.
 *
 * Tests run in the headless shell where there is one: a page takes it half of the processor time (measured over
 * 25 screens). What only a whole browser does, such as connecting to hosts in advance, is tested in Chromium.
 */
import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'

const WHOLE = '/usr/bin/chromium'
const SHELL = '/usr/bin/chromium-headless-shell'
const program = process.env.CHROMIUM ?? (existsSync(SHELL) ? SHELL : WHOLE)
const wholeProgram = process.env.CHROMIUM ?? WHOLE

const hindranceOf = (path: string): string | undefined =>
  existsSync(path) ? undefined : `SKIPPED: there is no ${path}, install chromium`

/** Why there can be no test in a browser; undefined where there can. Goes into the titles of tests. */
export const browserHindrance = hindranceOf(program)

/** The same for `launchProfile`. */
export const profileHindrance = hindranceOf(wholeProgram)

const NO_BACKGROUND = '--disable-background-networking'
const quiet = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-component-update',
  '--disable-sync',
]

/** @param names that lead to this machine, too */
export async function launchBrowser(names: readonly string[] = []): Promise<Browser> {
  const rules = [
    ...names.map((name) => `MAP ${name} 127.0.0.1`),
    'MAP * ~NOTFOUND',
    'EXCLUDE 127.0.0.1',
    'EXCLUDE localhost',
  ]
  return await chromium.launch({
    executablePath: program,
    args: [...quiet, NO_BACKGROUND, `--host-resolver-rules=${rules.join(', ')}`],
  })
}

/**
 * A browser as people have it, with a profile in `directory`. Unlike others it connects to hosts before it needs
 * them, as pages ask it to.
 */
export async function launchProfile(directory: string): Promise<BrowserContext> {
  return await chromium.launchPersistentContext(directory, {
    executablePath: wholeProgram,
    args: [...quiet, '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost'],
    ignoreDefaultArgs: [NO_BACKGROUND],
  })
}

export interface PageWatch {
  /** What the browser complained of: errors and warnings, exceptions, dialogs, refused by a policy. */
  readonly complaints: readonly string[]
  /** Every address that the page asked for. */
  readonly asked: readonly string[]
  /** What was seen since it was last taken. */
  take(): Pick<PageWatch, 'complaints' | 'asked'>
}

/** Call before the page opens anything. */
export function watchPage(page: Page): PageWatch {
  const complaints: string[] = []
  const asked: string[] = []
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return
    const { url } = message.location()
    complaints.push(url === '' ? message.text() : `${message.text()} (${url})`)
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('dialog', (dialog) => {
    complaints.push(`a dialog opened: ${dialog.message()}`)
    dialog.dismiss().catch(() => undefined)
  })
  page.on('request', (request) => asked.push(request.url()))
  const take = () => ({ complaints: complaints.splice(0), asked: asked.splice(0) })
  return { complaints, asked, take }
}

/** Those that lead to another host than the one of the page. */
export function askedElsewhere({ asked }: Pick<PageWatch, 'asked'>, origin: string): string[] {
  return asked.filter((url) => !url.startsWith(`${origin}/`) && !/^(?:data|blob|about):/.test(url))
}
