/** Every page of the site. */
import { documentPages } from './documents.ts'
import { errorPages } from './errors.ts'
import { eventPages } from './events.ts'
import { frontPage, missingPage } from './front.ts'
import { operationPages } from './operations.ts'
import type { SitePage } from './page.ts'

export function allPages(): SitePage[] {
  const documents = documentPages()
  return [
    ...[frontPage(), missingPage()],
    ...[...documents, ...operationPages(), ...eventPages(), ...errorPages()],
  ]
}
