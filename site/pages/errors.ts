/** A page for each error code, from the catalogue that the service answers by, and a list of them. */
import { errorCatalogue } from '../../packages/contract/src/index.ts'
import { operations } from './description.ts'
import { readDocument } from './documents.ts'
import { mapLinks } from './links.ts'
import { refusalsOf, slugOfOperation } from './operations.ts'
import { addressOf, cell, type SitePage, slugOf } from './page.ts'

export function errorPages(): SitePage[] {
  const codes = Object.keys(errorCatalogue) as (keyof typeof errorCatalogue)[]
  return [indexPage(codes), ...codes.map(pageOf)]
}

/** The text above the codes is the document's. */
function indexPage(codes: readonly (keyof typeof errorCatalogue)[]): SitePage {
  const [text = ''] = readDocument('docs/errors.md')
    .replace(/^# .+\n+/, '')
    .split(/^## /m)
  const rows = codes.map((code) => {
    const { status, message, cause } = errorCatalogue[code]
    return `| ${status} | [\`${code}\`](${addressOf(`errors/${slugOf(code)}`)}) | ${cell(message)} | ${cell(cause)} |`
  })
  return {
    slug: 'errors',
    title: 'Errors',
    description: 'Every error code of the API, with its cause and what to do.',
    markdown: `${mapLinks(text, 'docs/errors.md').trim()}

| Status | Code | Message | Cause |
|---|---|---|---|
${rows.join('\n')}
`,
  }
}

function pageOf(code: keyof typeof errorCatalogue): SitePage {
  const { status, message, cause, fix } = errorCatalogue[code]
  const answering = operations.filter((operation) => refusalsOf(operation).includes(code))
  const list = answering.map((one) => `- [${one.summary}](${addressOf(slugOfOperation(one))})`)
  const whose =
    list.length === operations.length
      ? 'Every [operation](/api/) may answer it.'
      : `${list.length === 0 ? 'Pages and links of the service answer it, and no operation of the API.' : list.join('\n')}`
  return {
    slug: `errors/${slugOf(code)}`,
    title: code,
    description: `${status}. ${message}. ${cause}`,
    markdown: `**${status}** · ${message}

\`\`\`json
${JSON.stringify({ success: false, message, code, request_id: '01JD3Z4W5X6Y7Z8A9B0C1D2E3F' }, null, 2)}
\`\`\`

- **Cause:** ${cause}
- **Fix:** ${fix}

## Operations that answer it

${whose}

[All errors](/errors/) · [Which check comes first](/reference/errors/)
`,
  }
}
