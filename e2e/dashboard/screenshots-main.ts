/**
 * `npm run screenshots`: pictures of the dashboard in both themes and three widths, of a service with a story.
 *
 *   npm run screenshots -- [--out pictures] [--only overview,login] [--screens FILE] [--themes light,dark]
 *                          [--widths 1440,768,360] [--language en] [--keep]
 *
 * FILE has further screens as JSON: [{ "name": "emails", "path": "/app/t/{tenant}/emails?status=failed",
 * "as": "support" }]. `{tenant}` and the like are ids of the story; the command prints them. With `--keep` the
 * service goes on, to look around in a browser, until Ctrl-C.
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { settle } from './scene.ts'
import { fillIn, type Screen, screens } from './screens.ts'
import { createStory, type Story } from './story.ts'

const HEIGHTS: Readonly<Record<number, number>> = { 1440: 900, 768: 1_024, 360: 780 }
/** What is slower has a skeleton, and charts draw after their data. */
const DRAWN_MS = 300

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'pictures' },
    only: { type: 'string' },
    screens: { type: 'string' },
    themes: { type: 'string', default: 'light,dark' },
    widths: { type: 'string', default: '1440,768,360' },
    language: { type: 'string', default: 'en' },
    keep: { type: 'boolean', default: false },
  },
})

const folder = resolve(values.out)
const wanted = chooseScreens()
mkdirSync(folder, { recursive: true })
const story = await createStory(say)
try {
  for (const [name, id] of Object.entries(story.ids)) say(`  {${name}} ${id}`)
  const complaints = await takePictures(story)
  for (const complaint of complaints) say(`A page complained: ${complaint}`)
  if (complaints.length > 0) process.exitCode = 1
  if (values.keep) await waitForEnd(story)
} finally {
  await story.destroy()
}

function chooseScreens(): readonly Screen[] {
  const more: readonly Screen[] =
    values.screens === undefined ? [] : JSON.parse(readFileSync(values.screens, 'utf8'))
  const all = [...screens, ...more]
  const names = values.only?.split(',')
  const unknown = names?.filter((name) => !all.some((screen) => screen.name === name)) ?? []
  if (unknown.length > 0)
    throw new Error(`no such screen: ${unknown}; there are ${all.map(({ name }) => name)}`)
  return names === undefined ? all : all.filter(({ name }) => names.includes(name))
}

async function takePictures({ scene, people, ids }: Story): Promise<string[]> {
  const complaints: string[] = []
  for (const { name, path, as = 'owner' } of wanted) {
    for (const theme of values.themes.split(','))
      for (const width of values.widths.split(',').map(Number)) {
        const page = await scene.open(fillIn(path, ids), {
          ...(as === 'nobody' ? {} : { person: people[as] }),
          colors: theme === 'dark' ? 'dark' : 'light',
          language: values.language === 'de' ? 'de' : 'en',
          ...{ width, height: HEIGHTS[width] ?? 900 },
        })
        const file = join(folder, `${name}-${theme}-${width}.png`)
        await takePicture(page, file)
        say(file)
      }
    const found = await scene.complaints()
    complaints.push(...found.map((complaint) => `${name}: ${complaint}`))
    await scene.closePages()
  }
  return [...new Set(complaints)]
}

async function takePicture(page: Page, file: string): Promise<void> {
  await settle(page)
  await page.waitForTimeout(DRAWN_MS)
  await page.screenshot({ path: file, fullPage: true })
}

async function waitForEnd({ scene, people }: Story): Promise<void> {
  say(`The service is at ${scene.origin}/app/ until Ctrl-C. Log in:`)
  for (const { role, email, password } of Object.values(people))
    say(`  ${role.padEnd(9)} ${email}   ${password}`)
  await new Promise((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve))
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
