// The second version: objects, and the way to the next ones.
class NewPosts {
  static list(data) {
    RestApiHelper.checkAndSanitizeRequiredParameters(Object.assign(data, { after: data.after || "" }), ["after|selectorValue"]);
    const found = pages.find("sort=-created, limit=10, after=" + data.after);
    return { posts: found.map(({ id, title, path }) => ({ id, title, path })), next: found.after };
  }

  static one(data) {
    const page = pages.get(data.id);
    if (!page) throw { code: 404, message: "post not found" };
    return { id: page.id, title: page.title, path: page.path };
  }
}

module.exports = { NewPosts };
