/** The front page: what Postrider is, how it looks, three proofs, and the lines that start it. */
import { existsInRepository } from './documents.ts'
import type { SitePage } from './page.ts'
import { pictureOf } from './pictures.ts'

const SENTENCE =
  'Email delivery that you host yourself: one HTTP API, an exact record of every attempt, and webhooks that are never lost.'
const ALT =
  'The page of one email in the dashboard: each attempt with the words of the server, and each webhook request'

const proofs = [
  {
    title: 'A 202 is a promise',
    text: 'The mail is committed and flushed to disk before the answer. A benchmark kills the processes and the database 200 times and counts what was lost, invented or sent twice.',
    command: 'npm run bench:crash',
  },
  {
    title: 'Every attempt has its words',
    text: 'Each failed attempt is one event with its number, the words of the server, and whether another follows. <a href="/failed-reasons/">Reasons are stable sentences</a>, so programs may compare them.',
    command: 'GET /v1/email/{ref_id}',
  },
  {
    title: 'Webhooks arrive, in order',
    text: 'An event is recorded in the transaction of the change that it reports. Requests are <a href="/reference/webhooks/#retries">repeated for three days</a>, kept for 30, and can be replayed.',
    command: 'POST /v1/webhook/replay',
  },
] as const

export function frontPage(): SitePage {
  return {
    slug: '',
    title: 'Postrider',
    description: SENTENCE,
    front: {
      template: 'splash',
      hero: {
        title: 'Postrider',
        tagline: SENTENCE,
        actions: [
          { text: 'Start in five minutes', link: '/start/', icon: 'right-arrow' },
          { text: 'API', link: '/api/', variant: 'minimal' },
        ],
      },
    },
    markdown: `${picture()}<section class="proofs">
${proofs.map(proofOf).join('\n')}
</section>

## Start

You need Linux or macOS and Node.js 22.19 or later. The service brings its own PostgreSQL. There are a container image and a Debian package, too: [deploy](/operations/deploy/).

\`\`\`sh
npx postrider    # the service, with its dashboard at http://127.0.0.1:8080/app/
\`\`\`

[Send the first email](/start/) · [Everything that works today](/features/) · [All pages as text](/llms.txt)
`,
  }
}

/** Of an address that leads nowhere. */
export function missingPage(): SitePage {
  return {
    slug: '404',
    title: 'There is no such page',
    description: 'This address leads nowhere.',
    front: { template: 'splash', pagefind: false, editUrl: false },
    markdown: `The address may have changed. Search above, or begin at one of these:

- [Start in five minutes](/start/)
- [The API](/api/), [events](/events/), [errors](/errors/)
- [The front page](/)
`,
  }
}

function proofOf({ title, text, command }: (typeof proofs)[number]): string {
  return `<div><h2>${title}</h2><p>${text}</p><p><code>${command}</code></p></div>`
}

/** Made by \`npm run screenshots\`. */
function picture(): string {
  const file = (theme: string) => `docs/pictures/email-${theme}.png`
  if (!existsInRepository(file('light')) || !existsInRepository(file('dark'))) return ''
  return `${pictureOf({ light: '/pictures/email-light.png', dark: '/pictures/email-dark.png', alt: ALT })}\n\n`
}
