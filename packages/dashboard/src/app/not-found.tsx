/** An address without a page, and a page that failed. */
import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router'
import { Failure } from '../ui/answers.tsx'
import { useWords } from '../words/define-words.ts'
import { PublicPage } from './public-page.tsx'
import { words } from './words.ts'

export function NotFound() {
  const text = useWords(words)
  return (
    <PublicPage title={text.notFound} lead={text.notFoundHelp}>
      <Link to="/">{text.toStart}</Link>
    </PublicPage>
  )
}

export function Oops({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  const retry = () => {
    reset()
    void router.invalidate()
  }
  return <Failure error={error} retry={retry} />
}
