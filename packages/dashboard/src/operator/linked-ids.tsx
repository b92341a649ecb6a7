/** A text of the service, in which each id leads to what it names. */
import { Link } from '@tanstack/react-router'
import { findIds } from './find-ids.ts'

export function LinkedIds({ children }: { readonly children: string }) {
  return findIds(children).map(({ text, isId }, at) =>
    isId ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text keep their order
      <Link key={at} to="/operator/search" search={{ q: text }}>
        <code>{text}</code>
      </Link>
    ) : (
      text
    ),
  )
}
