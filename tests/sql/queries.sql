-- Queries over the catalog of conftest.py; test_meaning.py compares what their plans give with what DuckDB gives.

-- plain, joined, grouped
SELECT * FROM bids;
SELECT price * 2 AS p, auction DIV 2 AS a FROM bids WHERE price > 1 AND (bidder = 'a' OR bidder IS NULL);
SELECT b.price, a.seller FROM bids b JOIN auctions a ON b.auction = a.id;
SELECT b.price, p.city, a.id FROM bids b, people p, auctions a WHERE b.auction = a.id AND p.name = a.seller;
SELECT a.id, p.city, b.price FROM people p, bids b, auctions a WHERE p.name = a.seller AND b.auction = a.category;
SELECT a.id, b.price FROM auctions a JOIN bids b ON a.id + 1 = b.auction AND a.category < b.price;
SELECT x.price, y.price AS q FROM bids x, bids y WHERE x.bidder = y.bidder AND x.price < y.price;
SELECT * FROM (SELECT bidder, price FROM bids) a JOIN (SELECT name AS bidder, city FROM people) b USING (bidder);
SELECT bidder, city, name FROM (SELECT name, city FROM people) JOIN bids ON name = bidder WHERE city IS NOT NULL;
SELECT p.name, q.city FROM people p CROSS JOIN people q;
SELECT b.price FROM bids b JOIN auctions a ON b.auction + a.id = 3;
SELECT bidder, COUNT(*) AS n, SUM(price) AS s, MIN(auction) AS m FROM bids GROUP BY bidder;
SELECT SUM(price) / COUNT(*) + MAX(auction) AS x, AVG(price) AS y FROM bids;
SELECT COUNT(*) AS n, MAX(price) AS m FROM bids WHERE price > 100;
SELECT auction % 2 AS odd, COUNT(bidder) AS n FROM bids GROUP BY auction % 2 HAVING COUNT(*) > 1 AND odd = 0;
SELECT auction % 2 + 1 AS x, auction AS y FROM bids GROUP BY auction, 1;
SELECT MAX(n) AS most FROM (SELECT bidder, COUNT(*) AS n FROM bids GROUP BY bidder) t;
SELECT a.seller, COUNT(*) AS n FROM bids b JOIN auctions a ON b.auction = a.id GROUP BY a.seller HAVING n > 2;
WITH t(k, n) AS (SELECT bidder, COUNT(*) FROM bids GROUP BY 1) SELECT city, n FROM people, t WHERE t.k = name;
SELECT n, bidder, city FROM counts, people WHERE bidder = name;
SELECT price AS bidder, bidder AS price FROM bids WHERE price > 2;
SELECT CASE WHEN price > 2 THEN 'big' WHEN price > 1 THEN 'small' END AS size FROM bids;

-- DISTINCT and set operators
SELECT DISTINCT bidder, auction % 2 AS odd FROM bids;
SELECT DISTINCT COUNT(*) AS n FROM bids GROUP BY bidder;
SELECT bidder FROM bids UNION SELECT name FROM people;
SELECT bidder, price FROM bids UNION ALL SELECT seller, id FROM auctions UNION ALL SELECT NULL, 1 FROM people;
SELECT bidder FROM bids INTERSECT SELECT name FROM people;
SELECT bidder FROM bids INTERSECT ALL SELECT name FROM people;
SELECT bidder FROM bids EXCEPT SELECT seller FROM auctions;
SELECT bidder FROM bids EXCEPT ALL SELECT name FROM people;
SELECT bidder FROM bids MINUS (SELECT name FROM people WHERE city = 'x');
(SELECT bidder FROM bids UNION SELECT seller FROM auctions) EXCEPT (SELECT name FROM people INTERSECT SELECT 'a' FROM
  people);
SELECT bidder FROM bids UNION SELECT seller FROM auctions INTERSECT SELECT name FROM people;
SELECT k, COUNT(*) AS n FROM (SELECT bidder AS k FROM bids UNION ALL SELECT seller FROM auctions) GROUP BY k;
WITH t AS (SELECT bidder FROM bids) SELECT bidder FROM t UNION ALL SELECT bidder FROM t WHERE bidder = 'a';

-- joins that are not inner ones
SELECT b.price, p.city FROM bids b LEFT JOIN people p ON b.bidder = p.name;
SELECT b.price, p.city FROM bids b LEFT JOIN people p ON b.bidder = p.name AND b.price > 3 WHERE b.auction < 3;
SELECT b.price, p.city FROM bids b LEFT JOIN people p ON b.bidder = p.name AND p.city <> 'x' WHERE p.city IS NULL;
SELECT b.price, a.id FROM bids b LEFT JOIN auctions a ON b.price < a.id AND b.auction = a.category;
SELECT b.price, a.id FROM bids b LEFT JOIN auctions a ON b.price < a.id - 3;
SELECT b.price, p.name FROM bids b RIGHT JOIN people p ON b.bidder = p.name AND b.price > 4;
SELECT b.price, p.name, p.city FROM bids b FULL OUTER JOIN people p ON b.bidder = p.name AND b.price > 4;
SELECT b.price, a.id FROM bids b FULL JOIN auctions a ON b.auction + 2 = a.id AND a.seller = 'c';
SELECT b.price, p.city, a.id FROM bids b LEFT JOIN people p ON bidder = name JOIN auctions a ON a.id = b.auction;
SELECT a.id, b.price, p.city FROM auctions a, bids b LEFT JOIN people p ON b.bidder = p.name WHERE a.id = b.auction;
SELECT a.id, p.city, q.city AS c FROM auctions a LEFT JOIN people p ON a.seller = p.name LEFT JOIN people q ON p.city
  = q.city;
SELECT a.id, p.city FROM auctions a LEFT JOIN people p ON 1 = 0;
SELECT a.id, p.city FROM auctions a LEFT JOIN people p ON true WHERE a.id > 2;
SELECT * FROM people FULL JOIN (SELECT seller AS name, id FROM auctions) b USING (name);
SELECT name, city, id FROM people RIGHT JOIN (SELECT seller AS name, id FROM auctions) b USING (name);
SELECT * FROM people NATURAL JOIN (SELECT seller AS name, id FROM auctions) b;
SELECT name, COUNT(*) AS n FROM people FULL JOIN (SELECT bidder AS name FROM bids) b USING (name) GROUP BY name;
SELECT name, x, y, z FROM (SELECT bidder AS name, price AS x FROM bids) FULL JOIN (SELECT seller AS name, id AS y FROM
  auctions) USING (name) FULL JOIN (SELECT name, city AS z FROM people) USING (name);
SELECT * FROM bids LEFT SEMI JOIN people ON bidder = name;
SELECT * FROM bids LEFT ANTI JOIN people ON bidder = name;
SELECT * FROM bids SEMI JOIN auctions a ON a.id = auction AND a.category < price;
SELECT price FROM bids ANTI JOIN auctions a ON a.id > price WHERE price < 100;
SELECT bidder FROM bids LEFT ANTI JOIN people ON bidder = name LEFT SEMI JOIN auctions a ON a.id = auction;

-- conditions on subqueries
SELECT price FROM bids WHERE bidder IN (SELECT name FROM people);
SELECT price FROM bids WHERE NOT bidder IN (SELECT seller FROM auctions WHERE id > 0);
SELECT price FROM bids WHERE bidder NOT IN (SELECT seller FROM auctions);
SELECT price FROM bids WHERE bidder NOT IN (SELECT name FROM people);
SELECT price FROM bids WHERE bidder NOT IN (SELECT name FROM people WHERE name IS NOT NULL);
SELECT price, bidder FROM bids WHERE bidder NOT IN (SELECT name FROM people WHERE city = 'nowhere');
SELECT id FROM auctions WHERE category NOT IN (SELECT auction FROM bids WHERE bidder = seller);
SELECT id FROM auctions a WHERE category NOT IN (SELECT auction FROM bids b WHERE b.bidder = a.seller AND price > id);
SELECT price FROM bids WHERE (bidder, auction) IN (SELECT seller, id FROM auctions);
SELECT price FROM bids WHERE price > 1 AND auction IN (SELECT category FROM auctions WHERE seller = bidder);
SELECT id FROM auctions WHERE id IN (SELECT auction FROM bids GROUP BY auction HAVING COUNT(*) > 2);
SELECT id FROM auctions WHERE 3 IN (SELECT auction FROM bids);
SELECT id FROM auctions WHERE EXISTS (SELECT 1 FROM bids WHERE price > 5);
SELECT id FROM auctions WHERE NOT EXISTS (SELECT * FROM bids WHERE price > 100);
SELECT id FROM auctions a WHERE EXISTS (SELECT 1 FROM bids b WHERE b.auction = a.id AND b.bidder = a.seller);
SELECT id FROM auctions WHERE NOT EXISTS (SELECT 1 FROM bids WHERE auction = id AND price < category);
SELECT id FROM auctions a WHERE EXISTS (SELECT 1 FROM bids b, people p WHERE p.name = b.bidder AND b.auction = a.id);
SELECT id FROM auctions WHERE id IN (SELECT auction FROM bids UNION SELECT category FROM auctions);
SELECT bidder, COUNT(*) AS n FROM bids WHERE bidder IN (SELECT name FROM people) GROUP BY bidder;

-- subqueries that stand for values
SELECT price FROM bids WHERE price > (SELECT AVG(price) FROM bids);
SELECT price - (SELECT MIN(price) FROM bids WHERE bidder = 'a') AS d, (SELECT COUNT(*) FROM people) AS n FROM bids;
SELECT bidder, COUNT(*) * (SELECT COUNT(*) FROM people) AS n FROM bids GROUP BY bidder HAVING COUNT(*) > (SELECT 1 +
  COUNT(*) FROM people WHERE city = 'x');
SELECT SUM(price - (SELECT MIN(price) FROM bids)) AS s, (SELECT MAX(id) FROM auctions) AS m FROM bids WHERE price >
  100;
SELECT bidder, price FROM bids b WHERE price = (SELECT MAX(price) FROM bids x WHERE x.auction = b.auction);
SELECT id, (SELECT COUNT(*) + 1 FROM bids WHERE bidder = seller AND price > 2) AS n, (SELECT AVG(price) FROM bids
  WHERE auction = id + 2 AND bidder = seller) AS a FROM auctions WHERE id > (SELECT MIN(category) FROM auctions);
SELECT a.id, SUM(b.price - (SELECT MIN(price) FROM bids x WHERE x.bidder = b.bidder)) AS s FROM auctions a
  JOIN bids b ON a.id = b.auction WHERE b.price > (SELECT COUNT(*) FROM people WHERE name = b.bidder) GROUP BY a.id;

-- first rows
SELECT bidder, price FROM bids ORDER BY price DESC LIMIT 3;
SELECT bidder FROM bids ORDER BY auction, price DESC LIMIT 4 OFFSET 2;
SELECT bidder AS b, auction FROM bids ORDER BY b DESC NULLS FIRST, 2 LIMIT 5;
SELECT name, city FROM people ORDER BY city LIMIT 2;
SELECT name, city FROM people ORDER BY city DESC LIMIT 2;
SELECT name, city FROM people ORDER BY city ASC NULLS LAST LIMIT 3;
SELECT bidder, auction FROM bids LIMIT 3;
SELECT bidder, COUNT(*) AS n FROM bids GROUP BY bidder ORDER BY COUNT(*) DESC, bidder LIMIT 2;
SELECT bidder FROM bids GROUP BY bidder ORDER BY SUM(price) LIMIT 2;
SELECT DISTINCT bidder FROM bids ORDER BY bidder DESC LIMIT 2;
SELECT bidder FROM bids UNION SELECT seller FROM auctions ORDER BY 1 DESC LIMIT 3;
SELECT MAX(price) AS m FROM (SELECT price FROM bids ORDER BY price LIMIT 4) t;
SELECT COUNT(*) AS n FROM (SELECT price FROM bids ORDER BY price) t;
SELECT bidder, price FROM bids LIMIT ALL;
(SELECT bidder, price FROM bids) ORDER BY price DESC LIMIT 2;
(SELECT bidder FROM bids LIMIT 3) UNION ALL (SELECT seller FROM auctions ORDER BY id LIMIT 2);

-- numbered rows
SELECT * FROM (SELECT bidder, price, ROW_NUMBER() OVER (PARTITION BY bidder ORDER BY price DESC) AS rn FROM bids)
  WHERE rn <= 2;
SELECT bidder, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price) AS rn FROM bids) t WHERE
  rn < 3;
SELECT bidder, rn FROM (SELECT bidder, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price) rn FROM bids) WHERE rn
  = 2;
SELECT rn, price FROM (SELECT ROW_NUMBER() OVER (ORDER BY price DESC) rn, price FROM bids) WHERE rn BETWEEN 2 AND 4
  AND price > 1;
SELECT price FROM bids QUALIFY ROW_NUMBER() OVER (PARTITION BY auction % 2 ORDER BY price) <= 2;
SELECT bidder, COUNT(*) AS n, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) AS rn FROM bids GROUP BY bidder QUALIFY rn <=
  2;
SELECT t.price, city FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder ORDER BY ts) rn FROM bids) t JOIN people
  ON bidder = name WHERE 1 >= rn;

-- aggregates
SELECT bidder, COUNT(DISTINCT auction) AS n, SUM(DISTINCT auction) AS s, AVG(DISTINCT price) AS a FROM bids GROUP BY
  bidder;
SELECT VARIANCE(price) AS a, VAR_POP(auction) AS b, STDDEV(price) AS c, STDDEV_POP(price) AS d, STD(id) AS e FROM
  bids, auctions;
SELECT id, VAR_SAMP(category) AS v, STDDEV_SAMP(category) AS s FROM auctions GROUP BY id;
SELECT bidder, MEDIAN(price) AS m, PERCENTILE(auction, 0.25) AS p FROM bids GROUP BY bidder;
SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY price) AS a, PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY price
  DESC) AS b FROM bids;
SELECT bidder, PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY auction) AS d, PERCENTILE_DISC(0) WITHIN GROUP (ORDER BY
  ts) AS f FROM bids GROUP BY bidder;
SELECT auction, MIN_BY(bidder, price) AS a, MAX_BY(bidder, price) AS b, MAX_BY(price, bidder) AS c FROM bids GROUP BY
  auction;
SELECT auction % 2 AS odd, FIRST(bidder) AS f, LAST_VALUE(price) AS l, LAST(bidder) AS x FROM bids GROUP BY 1;
SELECT auction, STRING_AGG(bidder, '-') AS s, LISTAGG(DISTINCT bidder, ',') AS d, GROUP_CONCAT(bidder) AS g FROM bids
  GROUP BY auction;
SELECT LISTAGG(bidder, '') WITHIN GROUP (ORDER BY bidder) AS s, STRING_AGG(auction, '+') AS t FROM bids WHERE price >
  100;
SELECT BIT_AND(auction) AS a, BIT_OR(auction) AS o, BIT_XOR(auction) AS x FROM bids WHERE auction > 0;
SELECT bidder, BOOL_AND(price > 1) AS a, EVERY(price < 9) AS e, BOOL_OR(price > 5) AS o, ANY(price > 9) AS n,
  SOME(bidder = 'a') AS s FROM bids GROUP BY bidder;
SELECT bidder, COUNT(*) FILTER (WHERE price > 2) AS c, SUM(price) FILTER (WHERE auction = 1) AS s, COUNT_IF(price < 3)
  AS i FROM bids GROUP BY bidder;
SELECT auction, MAX_BY(bidder, price) FILTER (WHERE price < 3) AS m, MEDIAN(price) FILTER (WHERE price < 4) AS d,
  STRING_AGG(bidder, '') FILTER (WHERE price > 3) AS s FROM bids GROUP BY auction;
SELECT auction, ANY_VALUE(bidder) AS a, MIN(DISTINCT bidder) AS m FROM bids GROUP BY auction;
SELECT bidder, auction, COUNT(*) AS n FROM bids GROUP BY ROLLUP (bidder, auction);
SELECT bidder, auction % 2 AS odd, SUM(price) AS n FROM bids GROUP BY CUBE (bidder, auction % 2) HAVING SUM(price) > 3;
SELECT bidder, auction, COUNT(*) AS n FROM bids GROUP BY GROUPING SETS ((bidder, auction), bidder, ());
SELECT bidder, auction, COUNT(*) AS n FROM bids WHERE price > 100 GROUP BY bidder, auction WITH ROLLUP;
SELECT bidder, auction, COUNT(*) AS n FROM bids GROUP BY auction, ROLLUP (bidder);
SELECT bidder, rms(price) AS r, rms(auction + 1) * 2 AS q FROM bids GROUP BY bidder HAVING rms(price) > 1;

-- joins of joins
SELECT name, id, price FROM people, auctions FULL JOIN bids ON id = auction AND price > 2;
SELECT name, id, price FROM people, auctions FULL JOIN bids ON id = auction AND price > 2 WHERE name = bidder AND price < 4;
SELECT city, id, price FROM (people JOIN bids ON name = bidder) LEFT JOIN auctions ON auction = id;
SELECT city, id, price FROM people LEFT JOIN (bids JOIN auctions ON auction = id AND price > 2) ON name = bidder;
SELECT city, id, price FROM people LEFT JOIN bids JOIN auctions ON auction = id ON name = bidder;
SELECT city, id, price FROM people RIGHT JOIN ((bids) JOIN (auctions) ON auction = id) ON name = bidder;
SELECT p.name, q.name AS other, a.ts FROM people p JOIN people q USING (name), bids b JOIN auctions a USING (ts);
SELECT ts, price, id FROM people JOIN (bids FULL JOIN auctions USING (ts)) ON name = bidder;
SELECT ts, bidder, x.id FROM (SELECT ts, id FROM auctions) x FULL JOIN (bids JOIN people ON name = bidder) USING (ts);

-- IN and EXISTS as values
SELECT price, bidder FROM bids WHERE price > 4 OR bidder IN (SELECT name FROM people);
SELECT price, bidder FROM bids WHERE price > 4 OR bidder IN (SELECT name FROM people WHERE name IS NOT NULL);
SELECT price, bidder FROM bids WHERE price > 4 OR NOT bidder IN (SELECT name FROM people WHERE name IS NOT NULL);
SELECT price, bidder, bidder IN (SELECT name FROM people) AS i FROM bids;
SELECT price, bidder NOT IN (SELECT name FROM people WHERE city = 'x') AS i FROM bids;
SELECT price, bidder IN (SELECT name FROM people WHERE city = 'none') AS i FROM bids;
SELECT id, id IN (SELECT auction FROM bids WHERE auction > auctions.category) AS i FROM auctions;
SELECT price, 1 IN (SELECT auction FROM bids) AS i, 'a' NOT IN (SELECT city FROM people) AS n FROM bids;
SELECT price, EXISTS (SELECT 1 FROM people WHERE name = bidder) AS e, EXISTS (SELECT 1 FROM auctions) AS a FROM bids;
SELECT id FROM auctions WHERE CASE WHEN id > 2 THEN EXISTS (SELECT 1 FROM bids WHERE price < id - 3) ELSE id = 1 END;
SELECT id, NOT EXISTS (SELECT 1 FROM bids WHERE auction = id AND price > id) AS e FROM auctions;
SELECT bidder IN (SELECT name FROM people) AS i, COUNT(*) AS n FROM bids GROUP BY i;
SELECT bidder, COUNT(*) FILTER (WHERE auction IN (SELECT id FROM auctions WHERE id > 1)) AS n,
  SUM(CASE WHEN EXISTS (SELECT 1 FROM people WHERE name = bidder) THEN price END) AS s FROM bids GROUP BY bidder;
SELECT price FROM bids WHERE auction = 1 AND (bidder IN (SELECT name FROM people) OR EXISTS (SELECT 1 FROM auctions
  WHERE category = auction)) AND ts IN (SELECT ts FROM auctions);
SELECT name FROM people WHERE EXISTS (SELECT 1 FROM bids WHERE price < 1 OR bidder IN (SELECT name FROM people));

-- an order that orders nothing, hints, numbers as conditions
SELECT bidder, price FROM bids ORDER BY price DESC, bidder;
(SELECT bidder, price FROM bids) ORDER BY 2;
SELECT bidder FROM bids UNION SELECT name FROM people ORDER BY bidder;
SELECT /*+ BROADCAST(p), MERGE(b) */ b.price FROM bids b JOIN people p ON bidder = name;
SELECT bidder, SUM(auction) AS s FROM bids GROUP BY bidder HAVING SUM(auction) - 3;

-- constants
SELECT price FROM bids WHERE 1 = 1 AND 'a' < 'b';
