/** The navigation: by what a reader wants to do. Every page that is no error has its place here, once. */
import { description, operations } from './pages/description.ts'
import { slugOfOperation } from './pages/operations.ts'
import { addressOf, type SitePage } from './pages/page.ts'

export interface Group {
  readonly label: string
  readonly collapsed?: boolean
  readonly items: readonly (Group | Link)[]
}

export interface Link {
  readonly label: string
  readonly link: string
}

/** Of documents: the groups with their pages, by slug. */
const guides: readonly (readonly [label: string, slugs: readonly string[]])[] = [
  ['Start', ['start', 'features', 'comparison', 'glossary']],
  [
    'Send',
    [
      'sending',
      'submission',
      'templates',
      'operations/mailers',
      'operations/oauth',
      'operations/limits',
      'relays',
    ],
  ],
  ['Receive', ['inbound', 'mailboxes']],
  ['Track and protect', ['operations/tracking', 'operations/phishing', 'failed-reasons']],
  ['Programs', ['client']],
  [
    'Run',
    [
      'operations/deploy',
      'config',
      'operations/monitor',
      'operations/troubleshoot',
      'operations/backup',
      'operations/upgrade',
      'operations/secrets',
      'operations/scale',
      'operations/high-availability',
      'operations/inbound',
      'operations/http-limits',
      'security',
    ],
  ],
]

const promises: readonly string[] = [
  'reference',
  'reference/sending',
  'reference/templates',
  'reference/test-mode',
  'reference/statuses',
  'reference/events',
  'reference/webhooks',
  'reference/alerts',
  'reference/suppressions',
  'reference/mailers',
  'reference/domains',
  'reference/inbound',
  'reference/http',
  'reference/errors',
  'reference/idempotency',
  'reference/limits',
  'reference/operator',
  'reference/people',
  'reference/permissions',
  'reference/dashboard',
  'reference/running',
  'reference/client',
]

const changing: readonly string[] = [
  'architecture',
  'contributing',
  'testing',
  'adding-a-relay',
  'changelog',
]

export function sidebarOf(pages: readonly SitePage[]): Group[] {
  const linkTo = (slug: string): Link => {
    const page = pages.find((one) => one.slug === slug)
    if (page === undefined) throw new Error(`sidebar.ts names ${slug}, which is no page`)
    return { label: page.label ?? page.title, link: addressOf(slug) }
  }
  const below = (folder: string): Link[] =>
    pages.filter(({ slug }) => slug.startsWith(`${folder}/`)).map(({ slug }) => linkTo(slug))
  const groupOf = (label: string, slugs: readonly string[], collapsed = false): Group => ({
    ...{ label, collapsed },
    items: slugs.map(linkTo),
  })
  const [start, ...rest] = guides.map(([label, slugs]) => groupOf(label, slugs))
  return [
    ...(start === undefined ? [] : [start]),
    { label: 'Tutorials', items: [linkTo('tutorials'), ...below('tutorials')] },
    ...rest,
    {
      label: 'API',
      collapsed: true,
      items: [
        linkTo('api'),
        ...description.tags.map(({ name }) => ({
          ...{ label: name, collapsed: true },
          items: operations
            .filter(({ tags }) => tags.includes(name))
            .map((operation) => linkTo(slugOfOperation(operation))),
        })),
      ],
    },
    { label: 'Events', collapsed: true, items: [linkTo('events'), ...below('events')] },
    { label: 'Errors', collapsed: true, items: [linkTo('errors')] },
    groupOf('Promises', promises, true),
    {
      label: 'Change Postrider',
      collapsed: true,
      items: [
        ...changing.map(linkTo),
        { label: 'Decisions', collapsed: true, items: [linkTo('adr'), ...below('adr')] },
      ],
    },
  ]
}

/** The addresses of a navigation. */
export function linksOf(items: readonly (Group | Link)[]): string[] {
  return items.flatMap((item) => ('link' in item ? [item.link] : linksOf(item.items)))
}
