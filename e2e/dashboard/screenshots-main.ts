/** `npm run screenshots`: pictures of the dashboard, of a service with a story. `-- --help` says more. */
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { settle } from './scene.ts'
import { fillIn, isTold, type Screen, screens } from './screens.ts'
import { createStory, type Story, type StoryKind, storyKinds } from './story.ts'

const HELP = `Takes pictures of the dashboard in both themes and three widths.

  npm run screenshots -- [--out pictures] [--only overview,login] [--screens FILE] [--themes light,dark]
                         [--widths 1440,768,360] [--language en] [--story ordinary] [--keep]
  npm run screenshots -- --docs

With --docs: the pictures of the README and the documents, into docs/pictures (${screens
  .filter(({ pictured }) => pictured !== undefined)
  .map(({ name }) => name)
  .join(', ')}),
1440 wide, in both themes. pngquant makes them small where it is installed.

The languages are en and de. The stories: ordinary; empty, a tenant that has sent nothing; many, with lists of 10,000
rows; fire, where no mailer gets its mail out any more.

FILE has further screens as JSON: [{ "name": "emails", "path": "/app/t/{tenant}/emails?status=failed",
"as": "support" }]. {tenant} and the like are ids of the story; the command prints them. With --keep the service
goes on, to look around in a browser, until Ctrl-C.
`
const PICTURES = new URL('../../docs/pictures/', import.meta.url).pathname
const PICTURE_BYTES_MAX = 150_000
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
    story: { type: 'string', default: 'ordinary' },
    keep: { type: 'boolean', default: false },
    docs: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (values.help) {
  process.stdout.write(HELP)
  process.exit()
}

const folder = values.docs ? PICTURES : resolve(values.out)
const wanted = chooseScreens()
mkdirSync(folder, { recursive: true })
const story = await createStory(say, chooseStory())
try {
  for (const [name, id] of Object.entries(story.ids)) say(`  {${name}} ${id}`)
  const complaints = await (values.docs ? takePicturesOfDocs(story) : takePictures(story))
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

function chooseStory(): StoryKind {
  const kind = storyKinds.find((one) => one === values.story)
  if (kind === undefined) throw new Error(`no such story: ${values.story}; there are ${storyKinds}`)
  return kind
}

async function takePictures({ scene, people, ids }: Story): Promise<string[]> {
  const complaints: string[] = []
  for (const { name, path, as = 'owner' } of wanted) {
    if (!isTold(path, ids)) continue
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

/** As much as a reader sees first, of few screens. */
async function takePicturesOfDocs({ scene, people, ids }: Story): Promise<string[]> {
  const complaints: string[] = []
  for (const { name, path, as = 'owner', pictured } of screens) {
    if (pictured === undefined || as === 'nobody') continue
    for (const colors of ['light', 'dark'] as const) {
      const page = await scene.open(fillIn(path, ids), {
        ...{ person: people[as], colors, width: 1440, height: pictured },
      })
      const file = join(folder, `${name}-${colors}.png`)
      await settle(page)
      await page.waitForTimeout(DRAWN_MS)
      await page.screenshot({ path: file })
      complaints.push(...(await makeSmall(file)))
    }
    complaints.push(...(await scene.complaints()))
    await scene.closePages()
  }
  return [...new Set(complaints)]
}

/** With 256 colours: nobody sees the difference, and a page of text takes a third. */
async function makeSmall(file: string): Promise<string[]> {
  const options = ['--force', '--strip', '--skip-if-larger', '--ext', '.png', '--', file]
  const problem = await promisify(execFile)('pngquant', options).then(
    () => undefined,
    (error: Error) => error,
  )
  const bytes = statSync(file).size
  say(`${file} ${Math.round(bytes / 1_000)} kB`)
  if (bytes <= PICTURE_BYTES_MAX) return []
  return [`${file} has ${bytes} bytes: at most ${PICTURE_BYTES_MAX} (${problem ?? 'quantised'})`]
}

async function takePicture(page: Page, file: string): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor()
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
