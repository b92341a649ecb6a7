import { withClient } from '../developers/snippets-of.ts'

/** How a program registers an OAuth app. */
export function appSnippets(origin: string) {
  return {
    curl: `curl ${origin}/v1/oauth/apps \\
  -H "Authorization: Bearer $POSTRIDER_API_KEY" -H 'Content-Type: application/json' \\
  -d '{"app_id":"google","provider":"google","client_id":"…","client_secret":"…"}'`,
    typescript: withClient(`await postrider.createOAuthApp({
  app_id: 'google',
  provider: 'google',
  client_id: '…',
  client_secret: process.env.GOOGLE_CLIENT_SECRET ?? '',
})`),
  }
}
