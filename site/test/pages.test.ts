/** The pages before they are built: each has its place, and each link of a document leads to a page. */
import { errorCatalogue, eventNames, operations } from '@postrider/contract'
import { expect, it } from 'vitest'
import { allPages } from '../pages/all.ts'
import { tableOf } from '../pages/fields.ts'
import { mapLinks, outsideCode } from '../pages/links.ts'
import { asMarkdown, llmsFull, llmsIndex } from '../pages/llms.ts'
import { addressOf, anchorOf, keepDatesWhole, slugOf } from '../pages/page.ts'
import { mapPictures } from '../pages/pictures.ts'
import { linksOf, sidebarOf } from '../sidebar.ts'

const pages = allPages()
const slugs = pages.map(({ slug }) => slug)

it('no two pages have the same address, and each has a title and a description', () => {
  expect(slugs.filter((slug, at) => slugs.indexOf(slug) !== at)).toEqual([])
  const poor = pages.filter(({ title, description }) => title === '' || description === '')
  expect(poor.map(({ slug }) => slug)).toEqual([])
})

it('every operation, event and error has a page', () => {
  const wanted = [
    ...Object.keys(operations).map((id) => `api/${slugOf(id)}`),
    ...eventNames.map((name) => `events/${slugOf(name)}`),
    ...Object.keys(errorCatalogue).map((code) => `errors/${slugOf(code)}`),
  ]
  expect(wanted.length).toBeGreaterThan(150)
  expect(wanted.filter((slug) => !slugs.includes(slug))).toEqual([])
})

it('the navigation has every page once, but the front page, the page for no page, and errors', () => {
  const links = linksOf(sidebarOf(pages))
  const wanted = slugs.filter((slug) => !/^(?:|404|errors\/.*)$/.test(slug)).map(addressOf)
  expect(links.toSorted()).toEqual(wanted.toSorted())
})

it('a link to a document leads to its page, and one to a source becomes its words', () => {
  const map = (text: string) => mapLinks(text, 'docs/reference/sending.md')
  expect(map('[a](../config.md) and [b](webhooks.md#retries)')).toBe(
    '[a](/config/) and [b](/reference/webhooks/#retries)',
  )
  expect(map('[`run`](../../packages/mail/src/a.ts), [c](../adr/), [d](#here)')).toBe(
    '`run`, [c](/adr/), [d](/reference/sending/#here)',
  )
  expect(map('[e](../errors.md#not_found) [f](../../README.md#commands)')).toBe(
    '[e](/errors/not-found/) [f](/start/#commands)',
  )
  expect(map('[g](../openapi.json) [h](https://a.example.com/b.md)')).toBe(
    '[g](/openapi.json) [h](https://a.example.com/b.md)',
  )
  expect(map('`[i](a.md)`\n```sh\n[j](b.md)\n```\n')).toBe('`[i](a.md)`\n```sh\n[j](b.md)\n```\n')
})

it('what stands in code is not changed', () => {
  expect(outsideCode('a `a` a\n```\na\n```\na', (text) => text.replaceAll('a', 'b'))).toBe(
    'b `a` b\n```\na\n```\nb',
  )
})

it('dates in the cells of tables are kept whole, and no others', () => {
  expect(
    keepDatesWhole('On 2026-11-24.\n| a | 2026-07-21; 2026-07-22 |\n| 2026-07-21T10:00 |'),
  ).toBe(
    'On 2026-11-24.\n| a | <span class="date">2026-07-21</span>; <span class="date">2026-07-22</span> |\n| 2026-07-21T10:00 |',
  )
})

it('a picture of both themes becomes two, of which the page hides one', () => {
  const picture =
    '<picture>\n<source media="(prefers-color-scheme: dark)" srcset="../pictures/a-dark.png">\n<img src="../pictures/a-light.png" alt="An A">\n</picture>'
  const mapped = mapPictures(picture, 'docs/operations/a.md')
  expect(mapped).toContain('dark:sl-hidden" src="/pictures/a-light.png" alt="An A"')
  expect(mapped).toContain('light:sl-hidden" src="/pictures/a-dark.png" alt="An A"')
  expect(() => mapPictures('<picture></picture>', 'docs/a.md')).toThrow('without a dark')
})

it('a table of fields names inner fields by their paths, and ends at a shape that holds itself', () => {
  const item = { type: 'object', properties: { id: { type: 'string', maxLength: 3 } } }
  const schema = {
    additionalProperties: false,
    required: ['list'],
    properties: { list: { type: 'array', items: item, description: 'All | some.' } },
  }
  expect(tableOf(schema).split('\n').slice(2)).toEqual([
    '| `list` | list of object, required | All \\| some |',
    '| `list[].id` | string, may be absent | At most 3 characters |',
  ])
})

it('anchors are those of the hosts of repositories', () => {
  expect(anchorOf('What `npm start` does: "all"')).toBe('what-npm-start-does-all')
})

it('the lists for programs name every page of the navigation, and hold its text', () => {
  const index = llmsIndex(pages, sidebarOf(pages))
  expect(index).toContain('(/api/send-email.md): POST /v1/email/send')
  expect(index.match(/^- \[/gm)?.length).toBe(linksOf(sidebarOf(pages)).length)
  const full = llmsFull(pages)
  expect(full).toContain('# Send an email')
  expect(full).not.toContain('# Architecture\n')
  const page = pages.find(({ slug }) => slug === 'api/send-email')
  expect(page && asMarkdown(page)).toContain('POST `/v1/email/send` sendEmail')
})
