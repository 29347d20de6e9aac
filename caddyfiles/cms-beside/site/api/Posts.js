// The first version: titles alone. Clients that use it go on to.
class Posts {
  static list() {
    return { posts: pages.find("sort=-created, limit=10").map((page) => page.title) };
  }
}

module.exports = { Posts };
