/** A page for each event: when it comes, to which webhook, a real request body, and its fields. */

import { subscriptionKeyOfEvent } from '../../packages/contract/src/index.ts'
import { description, eventBodies, nameOf, type Schema, schemaOf } from './description.ts'
import { tableOf } from './fields.ts'
import { linkOperations } from './links.ts'
import { addressOf, cell, type SitePage, slugOf } from './page.ts'

interface Event {
  readonly name: string
  readonly about: string
  readonly schema: Schema
  /** Names of the requests that carry it. */
  readonly webhooks: readonly string[]
}

export function eventPages(): SitePage[] {
  const events = findEvents()
  return [
    indexPage(events),
    ...events.map(pageOf),
    ...Object.keys(description.webhooks).map(requestPage),
  ]
}

const WHERE: Readonly<Record<string, string>> = {
  EMAIL_EVENT: 'the webhook that is registered for `EMAIL_EVENT`',
  DOMAIN_VERIFICATION: 'the webhook that is registered for `DOMAIN_VERIFICATION`',
  INCOMING: 'the webhook of the inbound domain, the username or the mailbox',
}

function findEvents(): Event[] {
  const found = Object.entries(description.webhooks).flatMap(([webhook, { post }]) => {
    const content = post.requestBody?.content['application/json']?.schema ?? {}
    const one = content.items ?? content
    return (one.oneOf ?? [one]).map((schema) => {
      const shape = schemaOf(schema)
      const name = String(shape.properties?.event?.enum?.[0] ?? nameOf(schema))
      return { name, about: shape.description ?? '', schema, webhook }
    })
  })
  const names = [...new Set(found.map(({ name }) => name))]
  return names.map((name) => {
    const same = found.filter((event) => event.name === name)
    const [first] = same
    if (first === undefined) throw new Error(`no event ${name}`)
    return { ...first, webhooks: same.map(({ webhook }) => webhook) }
  })
}

function slugOfEvent(name: string): string {
  return `events/${slugOf(name)}`
}

function switchOf(name: string): string | undefined {
  return Object.entries(subscriptionKeyOfEvent).find(([event]) => event === name)?.[1]
}

function indexPage(events: readonly Event[]): SitePage {
  const rows = events.map(({ name, about }) => {
    const key = switchOf(name)
    return `| [\`${name}\`](${addressOf(slugOfEvent(name))}) | ${key === undefined ? '' : `\`${key}\``} | ${cell(linkOperations(about))} |`
  })
  const requests = Object.entries(description.webhooks).map(
    ([name, { post }]) => `- [${post.summary}](${addressOf(requestSlug(name))})`,
  )
  return {
    slug: 'events',
    title: 'Events',
    description: 'Every event that webhooks get, each with a real request body.',
    markdown: `A webhook gets events. Each page has a request body as a receiver got it, and every field of it. [Events in general](/reference/events/) and [webhooks](/reference/webhooks/) say how they behave together.

| Event | Switch | Tells |
|---|---|---|
${rows.join('\n')}

## Requests

${requests.join('\n')}
`,
  }
}

function pageOf({ name, about, schema, webhooks }: Event): SitePage {
  const body = eventBodies[name]
  if (body === undefined) throw new Error(`examples.json has no request body of ${name}`)
  const key = switchOf(name)
  const goesTo = webhooks.map(
    (webhook) => `[${WHERE[webhook]}](${addressOf(requestSlug(webhook))})`,
  )
  const switched =
    key === undefined
      ? ''
      : `\n- **Switch:** \`${key}\` of \`webhook_options.events\` ([register a webhook](/api/register-webhook/))`
  return {
    slug: slugOfEvent(name),
    title: name,
    description: about,
    markdown: `${linkOperations(about)}.

- **Goes to:** ${goesTo.join(', and ')}${switched}

## Request body

As a receiver got it from a running service; ids, times and host names are replaced.

\`\`\`json
${JSON.stringify(body, null, 2)}
\`\`\`

## Fields

${tableOf(schema)}

[All events](/events/) · [Fields that events share](/reference/events/#fields)
`,
  }
}

function requestSlug(webhook: string): string {
  return `events/requests/${slugOf(webhook)}`
}

/** How a webhook request behaves: acknowledgement, retries, repetitions. */
function requestPage(webhook: string): SitePage {
  const post = description.webhooks[webhook]?.post
  if (post === undefined) throw new Error(`no webhook request ${webhook}`)
  return {
    slug: requestSlug(webhook),
    title: post.summary,
    description: `The webhook request ${webhook}: its body, retries and headers.`,
    markdown: `${linkOperations(post.description ?? '')}\n\n[All events](/events/) · [Webhooks](/reference/webhooks/)\n`,
  }
}
