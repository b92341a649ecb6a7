import { snippetsOf } from '../developers/snippets-of.ts'

/** How a program reads events as they are committed. */
export const streamSnippets = () => {
  const { curl, ...lines } = snippetsOf({
    operation: 'streamEvents',
    path: '/v1/events/stream',
    typescript: 'for await (const event of postrider.streamEvents()) console.log(event)',
  })
  return { ...lines, curl: curl.replace('curl', 'curl -N') }
}
